"""Wrong files, settings and words on the command line: what, where and what to do, in one line."""

import re

import pytest

from support.two_joint_robot import write_recording
from support.wrong_input import FILES, MORE_WORDS, replaced
from sysid_ros.cli.main import main

FIT = ('fit', 'first.yaml', '--holdout', '0.3', '-q')
# Two lines of a wide terminal, without the folder of the test.
LONGEST = 440
# Joints without limits, three more, have a test of their own.
LIMITS, TRIED = 3, 97
ONE_JOINT = """\
robot: {urdf: robot.urdf}
recording: {format: csv, file: first.csv, joints: [swing], time: {column: t},
            position: {columns: [q1]}, effort: {columns: [f1]}}
"""


@pytest.fixture(scope='module')
def recorded(tmp_path_factory):
    """A recording of a robot with its settings, all of it right."""
    folder = tmp_path_factory.mktemp('recorded')
    write_recording(folder, 'first', 1)
    return {name: (folder / name).read_text() for name in ('robot.urdf', 'first.yaml', 'first.csv')}


@pytest.fixture
def answer(recorded, tmp_path, monkeypatch, capsys):
    """What the command line says of the recording after changes to its files."""
    monkeypatch.chdir(tmp_path)

    def run(words, file=None, change=None):
        for name, text in recorded.items():
            (tmp_path / name).write_text(change(text) if name == file else text)
        assert main(words) == 2
        lines = capsys.readouterr().err.strip().splitlines()
        said = [line for line in lines if line.startswith('sysid')]
        assert len(said) == 1
        assert len(said[0].replace(str(tmp_path), '')) <= LONGEST
        return said[0].replace(str(tmp_path), 'FOLDER')

    return run


def stamped(text):
    """The table with one stamp in all rows."""
    header, *rows = text.splitlines()
    return '\n'.join([header, *('3,' + row.split(',', 1)[1] for row in rows)])


TABLES = [
    (replaced(',', ';'), "cells look separated by ';', not by ','",
     "Set recording: {delimiter: ';'}."),
    (replaced(',', '\t'), r"""separated by "\t", not by ','""", r'recording: {delimiter: "\t"}.'),
    (lambda text: text.replace(',', ';').replace('.', ','), 'numbers have decimal commas',
     "Set recording: {delimiter: ';', decimal: ','}."),
    (lambda text: text.splitlines()[0], 'the table has no rows (found a header alone: t, q1',
     'Record again, or name another file.'),
    (lambda text: '', 'the file is empty', 'Record again, or name another file.'),
    (stamped, 'all rows have the same time (found 3 s in all 1500 rows)',
     '{time: {column: …}}, or the rate in Hz, recording: {time: {rate: 500}}.'),
]


@pytest.mark.parametrize(('change', 'what', 'advice'), TABLES)
def test_a_table_that_is_read_in_the_wrong_way(answer, change, what, advice):
    said = answer(FIT, 'first.csv', change)
    assert said.startswith('sysid fit: first.csv')
    assert what in said
    assert said.endswith(advice)


SETTINGS = [
    (replaced('[q1, q2]', '[Q1, q2]'), "first.csv: there is no column 'Q1'", "Did you mean 'q1'."),
    (replaced('first.csv', 'frist.csv'), 'frist.csv: cannot be read: there is no such file '
     '(found nothing of that name in FOLDER)', "Did you mean 'first.csv'."),
    (replaced('robot.urdf', 'robto.urdf'), 'robto.urdf: cannot be read: there is no such file',
     "Did you mean 'robot.urdf'."),
    (replaced('robot.urdf', 'first.yaml'), 'first.yaml: is no XML, as robot descriptions are',
     'If it is a settings file, give what it names: first.yaml.'),
    (lambda text: 'robot: {urdf: robot.urdf}\nrecording: {format: rosbag, file: first.csv}\n',
     'first.csv: there is no bag (found a table', 'recording: {format: csv}, with joints, time'),
    (lambda text: '', 'first.yaml: is not a mapping (found nothing, or comments alone',
     'Begin with the robot, as robot: {urdf: robot.urdf}; all keys are'),
    (lambda text: 'robot:\n\turdf: robot.urdf\n', 'first.yaml: is not plain YAML: line 2, there '
     'is a tab', 'Replace tabs by spaces.'),
    (replaced('measured}', 'measured, position_filter: {cutoff: 20 Hz}}'),
     "first.yaml: processing.position_filter.cutoff: is not a number (found '20 Hz'; allowed a "
     'number in Hz, as 20.0)',
     'Write the number alone, in Hz.'),
    (replaced('measured}', 'mesured}'), "processing.differentiation: there is no such choice "
     "(found 'mesured'; allowed 'central'", "Did you mean 'measured'."),
    (replaced('[swing, slide]', 'swing'), "recording.joints: is not a list (found 'swing'",
     'Write joints: [swing].'),
    (replaced('[rad, m]', '[degree, m]'), "position.unit: unknown unit (found 'degree'; allowed "
     'rad, deg, rev, m, mm)', "Did you mean 'deg'."),
    (replaced('[N·m, N]', '[newton meter, N]'), "effort.unit: unknown unit (found 'newton meter'",
     "Did you mean 'N·m'."),
    (replaced('column: t', 'column: t, unit: sec'),
     "first.yaml: recording.time.unit: there is no such choice (found 'sec'", "Did you mean 's'."),
    (lambda text: text.split('\n', 1)[1], 'first.yaml: there is no robot',
     'Add robot: {urdf: robot.urdf}.'),
    (lambda text: 'robot: {urdf: robot.urdf}\n', "first.yaml: the key 'recording' is missing",
     'Add recording: {…}, with format, joints, file'),
    (lambda text: ONE_JOINT, 'first.csv: no position was recorded for slide (found swing)',
     'robot: {locked_joints: {slide: 0.0}}; if they moved and have no encoder'),
    (replaced('[swing, slide]', '[swing, slde]'), 'no position was recorded for slide (found swing,'
     ' slde)', "If 'slde' is 'slide', correct recording.joints"),
    (replaced('robot.urdf', 'robot.urdf, locked_joints: {slide: rest}'),
     'robot: locked_joints: slide: a joint is held at a position (found rest',
     'Write locked_joints: {slide: 0.0}, or locked_joints: [slide]'),
    (lambda text: text + 'fit: {holdout: 0.3}\n', "first.yaml: unknown key 'fit.holdout'",
     'It is an option of the command: sysid fit … --holdout 0.3.'),
    (replaced('[f1, f2]', '[f1, f2], sign: -1'), 'recording.effort of first.csv: the effort of '
     'swing, slide has the wrong sign', 'Set recording: {effort: {sign: 1}}, or'),
    (replaced('[f1, f2]', '[f1, f2], sign: [1, -1]'), 'the effort of slide has the wrong sign',
     'Set recording: {effort: {sign: 1}}, or'),
]


@pytest.mark.parametrize(('change', 'what', 'advice'), SETTINGS)
def test_settings_that_are_wrong(answer, change, what, advice):
    said = answer(FIT, 'first.yaml', change)
    assert f' {what}' in said
    assert advice in said


WORDS = [
    (('fti', 'first.yaml'), "sysid: there is no such verb (found 'fti'; allowed model, init ",
     "Did you mean 'fit'."),
    (('first.yaml',), "there is no such verb (found 'first.yaml'",
     'Put the verb before it, as sysid fit first.yaml.'),
    ((*FIT, '--estimater', 'ols'), 'fit has no such argument (found --estimater ols; allowed ',
     "Did you mean '--estimator'."),
    ((*FIT, '-s', 'first.yaml'), 'fit has no such argument (found -s first.yaml; allowed ',
     "Did you mean '--settings'."),
    (('fit', 'first.yaml', '--estimator', 'entropc', '--holdout', '0.3'),
     "there is no such estimator (found 'entropc'", "Did you mean 'entropic'."),
    (('fit', 'first.yaml', '-q', '--holdout', '30'), 'is not a part of the recording (found 30.0',
     'For 30 % say 0.3.'),
    (('fit', 'frist.yaml'), 'frist.yaml: cannot be read: there is no such file',
     "Did you mean 'first.yaml'."),
    (('fit', 'first.yaml', '--validate', 'second.yaml'), 'second.yaml: cannot be read: there is no '
     'such file (found nothing of that name in FOLDER)', 'Give the path of a settings file.'),
    (('fit', 'robot.urdf'), 'robot.urdf: is no settings file (found a robot description',
     'Give a settings file that names it, as robot: {urdf: robot.urdf}; sysid '
     'init robot.urdf RECORDING writes one.'),
    (('excite', 'robot.urdf', '-o', 'motions'), 'robot.urdf: is no settings file',
     'as robot: {urdf: robot.urdf}; sysid init excite robot.urdf writes one.'),
    (('fit', 'first.csv'), 'first.csv: is no settings file (found a table',
     'as recording: {format: csv, file: first.csv, …}; sysid init '
     'ROBOT.urdf first.csv writes one.'),
    (('payload', 'first.yaml'), 'nothing says what the robot is without the load (found first.yaml',
     'or a recording without the load, --empty empty.yaml.'),
    (('export', 'runs/first', '-o', 'out.csv'), 'out.csv: is no name of a robot description',
     'Parameters as YAML are written by --yaml FILE.yaml.'),
    (('model', 'first.yaml'), "first.yaml: is no XML, as robot descriptions are (found 'robot: ",
     'give what it names: robot.urdf.'),
    (('model', 'first.csv'), 'first.csv: is no XML', 'Give the file of the description.'),
    (('model', 'robt.urdf'), 'robt.urdf: cannot be read', "Did you mean 'robot.urdf'."),
    (('model', 'robot.urdf', '--lock', 'swng=0'), "locked_joints: there is no such moving joint to "
     "lock (found 'swng'; allowed swing, slide)", "Did you mean 'swing'."),
]


@pytest.mark.parametrize(('file', 'change', 'what', 'advice'), FILES)
def test_files_that_are_wrong(answer, file, change, what, advice):
    said = answer(FIT, file, change)
    assert said.startswith('sysid fit: ')
    assert what in said
    assert advice in said.split(what)[1]


@pytest.mark.parametrize(('words', 'what', 'advice'), [*WORDS, *MORE_WORDS])
def test_words_of_the_command_line_that_are_wrong(answer, words, what, advice):
    said = answer(words)
    assert what in said
    assert said.endswith(advice)


def test_joints_without_limits_are_named_together_with_the_lines_that_give_them(answer, tmp_path):
    (tmp_path / 'plan.yaml').write_text('robot: {urdf: robot.urdf}\n')
    excite = ('excite', 'plan.yaml', '-o', 'motions')
    said = answer(excite, 'robot.urdf', lambda text: re.sub('<limit[^>]*/>', '', text))
    assert 'there is no position limit of swing, slide' in said
    assert 'limits: {swing: {lower: -1.0, upper: 1.0}, slide: {lower: -1.0, upper: 1.0}}.' in said
    said = answer(excite, 'robot.urdf', replaced('lower="-2" upper="2" ', ''))
    assert 'swing: the limits leave no room to move (found 0.0 to 0.0' in said
    assert said.endswith('as limits: {swing: {lower: -1.0, upper: 1.0}}.')
    said = answer(excite, 'robot.urdf', replaced('velocity="4" ', ''))
    assert 'swing: velocity: the joint has no limit that a motion could keep' in said
    assert said.endswith('as limits: {swing: {velocity: 1.0}}.')


def test_a_header_behind_a_hash_is_used(recorded, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in recorded.items():
        (tmp_path / name).write_text('# ' + text if name == 'first.csv' else text)
    assert main([*FIT, '--estimator', 'ols', '-o', 'run']) in (0, 1)
    assert (tmp_path / 'run' / 'summary.txt').is_file()


def test_as_many_wrong_inputs_are_listed_as_were_tried():
    assert len([*TABLES, *SETTINGS, *FILES, *WORDS, *MORE_WORDS]) + LIMITS >= TRIED
