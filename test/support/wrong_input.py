"""Wrong tables, settings, descriptions and words, with what is said of each and what to do."""

import re


def replaced(old, new):
    """The text with each occurrence of a part, which has to be there, in another form."""
    def change(text):
        assert old in text
        return text.replace(old, new)
    return change


def cell(row, column, text):
    """The table with another text in one cell."""
    def change(table):
        lines = table.splitlines()
        cells = lines[row].split(',')
        cells[column] = text
        lines[row] = ','.join(cells)
        return '\n'.join(lines) + '\n'
    return change


def column(number, value):
    """The table with another value of each row in one column."""
    def change(table):
        header, *rows = (line.split(',') for line in table.splitlines())
        for row in rows:
            row[number] = str(value(float(row[number])))
        return '\n'.join(','.join(line) for line in (header, *rows)) + '\n'
    return change


def added(text):
    return lambda settings: settings + text


def substituted(pattern, text):
    """The first match of a pattern in another form."""
    def change(description):
        changed, count = re.subn(pattern, text, description, count=1, flags=re.DOTALL)
        assert count == 1
        return changed
    return change


def first_rows(count):
    return lambda table: '\n'.join(table.splitlines()[:count]) + '\n'


FILES = [
    ('first.csv', cell(700, 1, 'abc'), "first.csv, line 701, column 1: a cell is not a number "
     "(found 'abc'", 'Correct it, or leave it empty.'),
    ('first.csv', lambda text: text.replace(text.splitlines()[700], '1,2,3'),
     'first.csv, line 701: a row is too short (found 3 cells; allowed at least ',
     'Remove the line if the recording broke off there.'),
    ('first.csv', first_rows(8), 'no stretch without a gap is long enough (found 0.06 s',
     'Record longer without gaps, or raise the cut-off frequencies.'),
    ('first.csv', replaced('q1,q2', 'q1,q1'), "column 'q1' is there 2 times",
     'Give the index of the one that is meant, as 1.'),
    ('first.csv', column(0, lambda x: 1000.0 * x), 'recording.time: stamps look like another unit',
     'Set recording.time.unit to ms; if this is how the robot moved, set'),
    ('first.csv', column(1, lambda x: 'nan'), 'swing: a joint has no finite position (found NaN in '
     'all 1500 samples)', 'Record its position, or leave the joint out of recording.joints.'),
    ('first.csv', column(0, lambda x: '2026-01-01T00:00:00'), 'first.csv, line 2, column 0: a cell '
     'is not a number', 'Correct it, or leave it empty.'),
    ('first.csv', replaced(',', '|'), "cells look separated by '|', not by ','",
     "Set recording: {delimiter: '|'}."),
    ('first.csv', column(1, lambda x: 57.3 * x), 'positions look like degrees',
     'Set recording.position.unit to deg; if'),
    ('first.csv', lambda text: text.split('\n', 1)[1], "first.csv: there is no column 'q1' (found "
     '9 columns without a header)', 'Name one of the columns, or give its index.'),
    ('first.yaml', replaced('csv\n', 'cvs\n'), "recording.format: there is no such choice (found "
     "'cvs'", "Did you mean 'csv'."),
    ('first.yaml', replaced('[q1, q2]', '[q1]'), 'first.yaml: position.columns: a per-joint list '
     'has the wrong length (found 1 values', 'Give one value per joint, in the order of'),
    ('first.yaml', replaced('[q1, q2]', '[q1, q2, q3]'), 'position.columns: a per-joint list has '
     'the wrong length (found 3 values', 'Give one value per joint, in the order of'),
    ('first.yaml', replaced('[f1, f2]', '[f1, f3]'), "first.csv: there is no column 'f3'",
     "Did you mean 'f2'."),
    ('first.yaml', replaced('[swing, slide]', '[swing, swing]'), 'joints: a joint is named twice '
     '(found swing, swing)', 'Name the joint of each column, once.'),
    ('first.yaml', replaced('column: t', 'column: time'), "there is no column 'time'",
     'Name one of the columns, or give its index.'),
    ('first.yaml', replaced('column: t', 'rate: -5'), 'recording.time.rate: the value is out of '
     'range (found -5; allowed above 0 in Hz)', 'Write rate: 20.0, for example.'),
    ('first.yaml', replaced('column: t', 'rate: fast'), "recording.time.rate: is not a number "
     "(found 'fast'", 'Write rate: 20.0, for example.'),
    ('first.yaml', replaced('column: t', 'array: t'), "recording.time: the time of the format 'csv'"
     ' comes from a rate or column', 'Write time: {column: t}, or time: {rate: 500} in Hz.'),
    ('first.yaml', added('fit: {estimator: olz}\n'), "there is no such estimator (found 'olz'",
     "Did you mean 'ols'."),
    ('first.yaml', added('fit: {estimater: ols}\n'), "unknown key 'fit.estimater'",
     "Did you mean 'estimator'."),
    ('first.yaml', added('fti: {}\n'), "first.yaml: unknown key 'fti'", "Did you mean 'fit'."),
    ('first.yaml', added('known: {payload: {mass: 1}}\n'),
     "first.yaml: the key 'known.payload.recording' is missing", 'Add recording: ….'),
    ('first.yaml', added('fit: {fixed: [swng.mass]}\n'), "no parameter matches the pattern (found "
     "'swng.mass')", "Did you mean 'tool.mass'."),
    ('first.yaml', added('fit: {terms: {viscous: true}}\n'), "unknown key 'fit.terms'",
     'Remove it.'),
    ('first.yaml', replaced('robot.urdf', 'robot.urdf, locked_joints: [swing, slide]'),
     'two_joints: no joint is left to move', 'Lock fewer joints, or use a description with moving'),
    ('first.yaml', replaced('robot.urdf', 'robot.urdf, loops: loops.yaml'),
     'loops.yaml: cannot be read: there is no such file', 'Correct the path.'),
    ('first.yaml', replaced('[swing, slide]', '[swing, slide'), 'first.yaml: is not plain YAML: '
     "line 6, column 7: did not find expected ',' or ']'", 'Close the bracket that line 5 opens'),
    ('first.yaml', lambda text: '- a\n- b\n', "first.yaml: is not a mapping (found ['a', 'b']",
     'Begin with the robot, as robot: {urdf: robot.urdf}'),
    ('first.yaml', lambda text: text + text, "line 12, column 1: the key 'robot' is given twice",
     'Remove one of them.'),
    ('first.yaml', replaced('[f1, f2]', '[f1, f2], sign: 0'), 'effort.sign: a sign is not +1 or -1',
     'Put other factors into scale.'),
    ('first.yaml', replaced('[f1, f2]', '[f1, f2], sign: [1, 1, 1]'), 'effort.sign: a per-joint '
     'list has the wrong length (found 3 values', 'Give one value per joint, in the order of'),
    ('first.yaml', replaced('[f1, f2]', '[f1, f2], scale: [0, 1]'), 'effort.scale: a scale of zero '
     'leaves nothing of what was recorded', 'Remove it, or leave the quantity out'),
    ('first.yaml', replaced('[f1, f2]', '[f1, f2], scale: x'), "recording.effort.scale: the value "
     "cannot be used (found 'x'", 'Write scale: 1.0, for example.'),
    ('first.yaml', replaced('measured}', 'measured, parallel_filter: {cutoff: -3}}'),
     'processing.parallel_filter.cutoff: the value is out of range (found -3',
     'Write cutoff: 20.0, for example.'),
    ('first.yaml', replaced('measured}', 'measured, parallel_filter: {cutoff: 5000}}'),
     'cutoff: the cut-off is not below half the sampling rate (found 5000 Hz',
     'Lower the cut-off or record faster.'),
    ('first.yaml', added('output: run\n'), "first.yaml: unknown key 'output'",
     'It is an option of the command: sysid fit … --output runs/first.'),
    ('first.yaml', replaced('robot.urdf', '{file: robot.urdf}'), 'first.yaml: robot.urdf: is not '
     'text', 'Write urdf: a name, for example.'),
    ('robot.urdf', lambda text: '', 'robot.urdf: is no XML, as robot descriptions are (found '
     'nothing', 'Give the file of the description.'),
    ('robot.urdf', lambda text: text[:len(text) // 2], 'column 5: is not well-formed XML: unclosed '
     'token', 'Mend the file there in a text editor; it may have broken off.'),
    ('robot.urdf', lambda text: '<html></html>', 'is neither a URDF nor an MJCF (found root element'
     ' <html>', 'Give the file of the description.'),
    ('robot.urdf', replaced('"revolute"', '"revolut"'), 'joint "swing": its type is unknown',
     'Mend the file in a text editor.'),
    ('robot.urdf', replaced('parent link="base"', 'parent link="nowhere"'), 'joint "swing": its '
     'parent link does not exist (found "nowhere")', 'Mend the file in a text editor.'),
    ('robot.urdf', replaced('axis xyz="0 1 0"', 'axis xyz="0 0 0"'), 'joint "swing": its axis is '
     'zero', 'Mend the file in a text editor.'),
    ('robot.urdf', lambda text: re.sub('"(revolute|prismatic)"', '"fixed"', text),
     'two_joints: no joint is left to move', 'or use a description with moving joints.'),
    ('robot.urdf', replaced('name="slide"', 'name="swing"'), 'joint "swing": 2 joints have this '
     'name', 'Mend the file in a text editor.'),
]


INIT = ('init', 'robot.urdf', 'first.csv', '-o', 'new.yaml')
NO_RUN = 'is not the folder of a fit (found no estimate.json'
MORE_WORDS = [
    (('fit', 'first.yaml', '--holdout', 'x'), 'sysid fit: argument --holdout: invalid float value',
     'See sysid fit --help.'),
    (('fit',), 'sysid fit: the following arguments are required: RECORDING',
     'See sysid fit --help.'),
    (('fit', 'first.yaml', '-q', '--holdout', '0'), '--holdout: is not a part of the recording',
     'For its last 30 % say 0.3.'),
    (('fit', '.', '-q'), 'there is no bag (found a folder without storage files',
     'Name the folder that ros2 bag record wrote.'),
    (('fit', 'first.yaml', '--holdout', '0.3', '--validate', 'first.yaml'),
     'argument --validate: not allowed with argument --holdout', 'See sysid fit --help.'),
    (('init', 'robot.urdf'), 'sysid init: the following arguments are required: recording',
     'See sysid init --help.'),
    (('init', 'first.csv', 'robot.urdf', '-o', 'new.yaml'), 'first.csv: is no XML',
     'Give the file of the description.'),
    (('init', 'robot.urdf', 'robot.urdf'), 'robot.urdf: is no recording',
     'or frame.to_csv("a.csv").'),
    (('init', 'robot.urdf', 'first.csv'), 'first.yaml: the settings file is there already',
     'Name another one with -o, or write over it with --force.'),
    ((*INIT, '--rate', 'fast'), '--rate is no number above 0 (found fast)',
     'Say a number, as --rate 100.'),
    ((*INIT, '--joints', 'swng,slide'), '--joints names no moving joint of the robot (found swng',
     "Did you mean 'swing'."),
    ((*INIT, '--position', 'Q*'), 'first.csv: --position names no column: Q*',
     "Did you mean 'q2'."),
    ((*INIT, '--position-unit', 'grad'), "--position-unit: unknown unit (found 'grad'",
     "Did you mean 'rad'."),
    (('check', 'first.csv'), 'first.csv: it is not said which robot was recorded (found a table',
     'sysid init robot.urdf first.csv.'),
    (('check', 'frist.yaml'), 'frist.yaml: cannot be read', "Did you mean 'first.yaml'."),
    (('check', 'robot.urdf'), 'robot.urdf: is no settings file (found a robot description',
     'sysid init robot.urdf RECORDING writes one.'),
    (('validate', 'runs/nothing', 'first.yaml'), f'runs/nothing: {NO_RUN}',
     "Name the folder that 'sysid fit' wrote."),
    (('report', 'first.yaml'), f'first.yaml: {NO_RUN}', "Name the folder that 'sysid fit' wrote."),
    (('compare', '.', '.'), NO_RUN, "Name the folder that 'sysid fit' wrote."),
    (('pack', '.'), NO_RUN, "Name the folder that 'sysid fit' wrote."),
    (('export', '.', '-o', 'a.urdf'), NO_RUN, "Name the folder that 'sysid fit' wrote."),
    (('excite', 'first.csv', '-o', 'm'), 'first.csv: is no settings file',
     'sysid init excite ROBOT.urdf writes one.'),
    (('init', 'excite', 'rbot.urdf'), 'rbot.urdf: cannot be read', "Did you mean 'robot.urdf'."),
    (('init', 'excite', 'robot.urdf', '--floor', 'low'), '--floor: is no height (found low',
     'Say it, as --floor -0.05.'),
    (('init', 'excite', 'robot.urdf', '--velocity', 'swng=1'),
     "--velocity: there is no such moving joint (found 'swng'", "Did you mean 'swing'."),
    (('init', 'excite', 'robot.urdf', '--box', 'wall'), "--box: is not a pair (found 'wall'",
     'Write name and value, as --box wall=0.'),
    (('init', 'nodes', '--listen', '0'), '--listen: cannot be used (found 0.0',
     'Say --listen 3.'),
    (('excite', 'first.yaml', '-o', 'm', '--count', '0'), '--count: cannot be used (found 0',
     'Say a number, as --count 1.'),
    (('model', 'robot.urdf', '--lock', 'swing'), "--lock: is not a pair (found 'swing'",
     'Write name and value, as --lock swing=0.'),
    (('model', 'robot.urdf', '--lock', 'swing=up'), "--lock: is not a position (found 'up'",
     'Write the number alone, as --lock joint_1=0.5.'),
    (('replay', 'first.yaml'), 'first.yaml: there is no bag',
     'Name the folder that ros2 bag record wrote.'),
    (('drift', 'nowhere'), 'nowhere: there is no run', 'Name the folder of a batch or of fits.'),
    (('batch', 'nowhere'), 'nowhere: cannot be read: there is no such file', 'Correct the path.'),
    (('view', '.'), 'has no report.json', "'sysid report RUN --recordings'."),
    (('payload', 'first.yaml', '--empty', 'frist.yaml'), 'frist.yaml: cannot be read',
     "Did you mean 'first.yaml'."),
    (('compile', 'nothing'), 'compile has no such argument (found nothing',
     'See sysid compile --help.'),
]
