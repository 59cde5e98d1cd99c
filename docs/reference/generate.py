"""Write the pages of the reference from the code: ``python docs/reference/generate.py``.

Keys of settings come from their classes, verbs from their argument parsers, parameters of nodes
from their settings, messages from their files, reasons of the verdict from what makes them.
"""

from __future__ import annotations

import argparse
import ast
import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import error_tables
import settings_tables as tables
import topics

FOLDER = Path(__file__).resolve().parent
PROJECT = FOLDER.parents[1]
_NOTE = 'Made from the code by `python docs/reference/generate.py`; not written by hand.'
# Titles of the files that settings are in, the class of each, and what it is read by.
_FILES = (
    ('The settings file of a fit', 'sysid_ros.estimation.identification.IdentificationSettings',
     'Read by `sysid fit`, `check`, `validate` and `payload`, and by the nodes. With comments: '
     '[`config/identification.yaml`](../../config/identification.yaml).'),
    ('The settings file of a motion', 'sysid_ros.excitation.configuration.ExcitationSettings',
     'Read by `sysid excite` and by the nodes that move a robot. With comments: '
     '[`config/excitation.yaml`](../../config/excitation.yaml).'),
    ('The file that closes loops', 'sysid_ros.robot.loops.LoopSettings',
     'Named by `robot: loops:`, and by `sysid model --loops`.'),
    ('The file of a planar mechanism',
     'sysid_ros.robot.description.planar.mechanism_settings.MechanismSettings',
     'Named by `robot: description:`, and read by `read_mechanism` for factor graphs. How it '
     'becomes a robot: [Planar mechanisms](../how-to/planar-mechanisms.md).'),
    ('The file of a planar mechanism of MBDS',
     'sysid_ros.robot.description.planar.mbds.MbdsSettings',
     'Read in the same places; `planar_bodies` tells it from the other.'),
)
_NODES = (
    ('identification_node', 'identification_settings.IdentificationNodeSettings'),
    ('excitation_node', 'excitation_settings.ExcitationNodeSettings'),
    ('model_server', 'model_server_settings.ModelServerSettings'),
    ('campaign_node', 'campaign_settings.CampaignNodeSettings'),
    ('monitor_node', 'monitor_settings.MonitorNodeSettings'),
    ('panel_node', 'panel_settings.PanelNodeSettings'),
    ('computed_torque_controller',
     'computed_torque_controller.ComputedTorqueControllerSettings'),
    ('simulated_robot', 'simulated_robot.SimulatedRobotSettings'),
    ('demo_operator', 'demo_operator.DemoOperatorSettings'),
)
# Modules whose calls of Objection are the reasons of a verdict.
_REASONS = ('objections', 'nothing_to_gain', 'data_objections')
_UNKNOWN = '…'
# What fields and constants are whose names say it all, so that their files have no comment.
_PLAIN = {
    'success': 'whether it was done', 'info': 'its entry in the store',
    'parameters': 'what it holds', 'revisions': 'their entries in the store, newest first',
    'joints': 'dynamics of each joint beyond the links it carries',
    'PLAYING=3': 'along the motion', 'IDLE=0': 'neither of both',
    'RECORDING=1': 'joint states go to a bag', 'FITTING=2': 'a process fits',
    'RECORDING_AND_FITTING=3': 'both at once', 'ERROR=4': 'it needs a person: see message',
    'COMMIT=1': 'an estimate that was committed',
    'ROLLBACK=2': 'an earlier revision that was handed out again'}


def pages() -> dict[str, str]:
    """Text of each page by the name of its file."""
    return {
        'settings.md': settings_page(), 'verbs.md': verbs_page(),
        'parameters.md': parameters_page(), 'interfaces.md': interfaces_page(),
        'verdict.md': verdict_page(), 'errors.md': error_tables.errors_page(_NOTE),
        'glossary.md': glossary_page()}


def glossary_page() -> str:
    """Words that summaries, reports and pages say."""
    from sysid_ros.studio.glossary import GLOSSARY

    rows = [f'| {tables.cell(word)} | {tables.cell(text)} |' for word, text in GLOSSARY.items()]
    return '\n\n'.join([
        '# Words of the summary', _NOTE,
        'What `sysid fit` prints, `summary.txt` and `report.html` say, in the order in which they '
        'come, and words of [the page in a browser](../how-to/studio.md). Reasons of the verdict '
        'have [a page of their own](../how-to/verdict.md).',
        '\n'.join(['| word | what it means |', '|---|---|', *rows])]) + '\n'


def settings_page() -> str:
    """All keys of all YAML files that people write."""
    parts = ['# Settings', _NOTE,
             'Unknown keys are refused, with the nearest known one. Units are SI, angles in rad.']
    written: set[tuple[str, type]] = set()
    for title, name, read_by in _FILES:
        parts += [f'## {title}', read_by, *tables.sections(tables.class_of(name), written)]
    return '\n\n'.join(parts) + '\n'


def parameters_page() -> str:
    """Parameters of the nodes."""
    parts = ['# Parameters of the nodes', _NOTE,
             'Each is also in `config/<node>.yaml`, at its default. A value that is not allowed is '
             'refused with the reason, at the start and by `ros2 param set`.']
    for node, name in _NODES:
        kind = tables.class_of(f'sysid_ros.nodes.{name}')
        parts += [f'## {node}', tables.table(kind, '')]
    return '\n\n'.join(parts) + '\n'


def verbs_page() -> str:
    """Verbs of the command line with their arguments."""
    from sysid_ros.cli.exit_codes import ExitCode
    from sysid_ros.cli.main import VERBS

    parts = ['# Verbs of the command line', _NOTE,
             '`ros2 sysid` takes the same verbs. Exit codes: '
             + '; '.join(f'{code.value} {code.meaning}' for code in ExitCode) + '.']
    for verb in VERBS:
        module = importlib.import_module(f'sysid_ros.cli.{verb.replace(" ", "_")}')
        parser = argparse.ArgumentParser(prog=f'sysid {verb}')
        module.add_arguments(parser)
        parts += [f'## sysid {verb}', (module.__doc__ or '').strip()]
        rows = [_argument(action) for action in parser._actions if action.dest != 'help']
        if rows:
            parts.append('\n'.join(['| argument | what it is |', '|---|---|', *rows]))
    return '\n\n'.join(parts) + '\n'


def _argument(action: argparse.Action) -> str:
    """The row of one argument."""
    value = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if action.choices is not None and action.metavar is None:
        value = '{' + ','.join(map(str, action.choices)) + '}'
    if not action.option_strings:
        shown = f'{value} …' if action.nargs == '+' else value
    else:
        shown = ', '.join(action.option_strings) + (f' {value}' if action.nargs != 0 else '')
    text = (action.help or '').replace('%%', '%')
    return f'| {tables.cell(f"`{shown}`")} | {tables.cell(text)} |'


def interfaces_page() -> str:
    """Topics, messages, services and actions."""
    parts = ['# Messages, services and actions', _NOTE, '## Topics',
             'What the nodes publish, in the namespace that they run in, and latched where whoever '
             'comes later hears the last message, too. Commands go to topics that parameters name.',
             topics.table()]
    for folder, title in (('msg', 'Messages'), ('srv', 'Services'), ('action', 'Actions')):
        parts.append(f'## {title}')
        for file in sorted((PROJECT / folder).glob(f'*.{folder}')):
            parts.append(f'### {file.stem}')
            parts += _interface(file.read_text(encoding='utf-8'), folder)
    return '\n\n'.join(parts) + '\n'


def _interface(text: str, folder: str) -> Iterator[str]:
    """Description and tables of one file."""
    titles = {'msg': ('',), 'srv': ('Request', 'Response'), 'action': (
        'Goal', 'Result', 'Feedback')}[folder]
    for title, part in zip(titles, text.split('\n---'), strict=True):
        about, fields = interface_fields(part)
        if about:
            yield about
        rows = [f'| `{kind}` | `{name}` | {tables.cell(said)} |' for kind, name, said in fields]
        head = ([f'**{title}**', ''] if title else []) + ['| type | field | what it is |',
                                                          '|---|---|---|']
        yield '\n'.join([*head, *rows]) if rows else f'**{title}**: nothing.'


def interface_fields(text: str) -> tuple[str, list[tuple[str, str, str]]]:
    """What one part of an interface file says.

    Args:
        text: The part, lines of fields and comments.

    Returns:
        The comment at its head, and type, name and comment of each field or constant. A comment
        that stands above a group of fields belongs to each of them.
    """
    about: list[str] = []
    group: list[str] = []
    fields: list[tuple[str, str, str]] = []
    head, fresh = True, True
    for line in text.strip('\n').splitlines():
        declared, _, comment = line.partition('#')
        words = declared.split(maxsplit=1)
        if words:
            head, fresh = False, True
            name = words[1].strip()
            said = ' '.join([*group, comment.strip()]).strip() or _PLAIN.get(name, '')
            fields.append((words[0], name, said))
        elif not line.strip():
            head, group, fresh = False, [], True
        elif line.startswith('#') and head:
            about.append(comment.strip())
        elif line.startswith('#'):
            group = [*([] if fresh else group), comment.strip()]
            fresh = False
        elif fields:
            kind, name, said = fields[-1]
            fields[-1] = kind, name, f'{said} {comment.strip()}'
    return '\n'.join(about), fields


def verdict_page() -> str:
    """Reasons against an estimate, with their next steps."""
    parts = ['# Reasons of the verdict', _NOTE,
             f'`{_UNKNOWN}` stands for what differs from case to case. What causes each, and what '
             'to do: [What each reason means](../how-to/verdict.md).']
    rows = [f'| {tables.cell(reason)} | {tables.cell(step)} |' for reason, step in reasons()]
    return '\n\n'.join([*parts, '\n'.join(['| reason | next step |', '|---|---|', *rows])]) + '\n'


def reasons() -> Iterator[tuple[str, str]]:
    """Reason and next step of each objection in the code, and of what these take from elsewhere."""
    from sysid_ros.estimation.estimate import Status
    from sysid_ros.evaluation.residual_patterns import Pattern

    folder = PROJECT / 'sysid_ros' / 'evaluation'
    for name in _REASONS:
        tree = ast.parse((folder / f'{name}.py').read_text(encoding='utf-8'))
        words = _constants(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, 'id', '') == 'Objection':
                reason, step = (_template(one, words) for one in node.args)
                if reason.strip(f'{_UNKNOWN} '):
                    yield reason, step
    for status in Status:
        if not status.ok:
            yield status.value, 'Look at the notes; widen the plausible ranges or mend the data.'
    for pattern in Pattern:
        yield (f'{_UNKNOWN}: the effort {pattern.value}; that is what most of the error follows.',
               pattern.next_step)
    for name in ('contradictions', 'departures', 'undeclared_load'):
        yield from _sentences(ast.parse((folder / f'{name}.py').read_text(encoding='utf-8')))


def _sentences(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Sentences of findings, beside their next steps where these are of as many cases."""
    said: dict[str, list[str]] = {'sentence': [], 'next_step': []}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in said:
            said[node.name] += [
                _template(one.value) for one in ast.walk(node)
                if isinstance(one, ast.Return) and one.value is not None]
    for k, sentence in enumerate(said['sentence']):
        yield sentence, said['next_step'][k] if k < len(said['next_step']) else (
            'Fit and judge by recordings of one robot; `sysid payload` finds what it carries.')


def _constants(tree: ast.Module) -> dict[str, str]:
    """Texts of a module that have a name."""
    return {
        target.id: str(node.value.value) for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets if isinstance(target, ast.Name)}


def _template(node: ast.expr, words: Mapping[str, str] | None = None) -> str:
    """Text of an expression, with what is only known at run time left open.

    Args:
        node: The expression.
        words: Texts by name, where alternatives are told, too.
    """
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return ''.join(_template(one, words) for one in node.values)
    if isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Name):
        return _template(node.value, words)
    if words is not None and isinstance(node, ast.Name):
        return words.get(node.id, _UNKNOWN)
    if words is not None and isinstance(node, ast.IfExp):
        told = [_template(one, words) for one in (node.body, node.orelse)]
        return ' Or: '.join(text for text in told if text.strip(f'{_UNKNOWN}. '))
    return _UNKNOWN


def main() -> None:
    """Write all pages."""
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding='utf-8')


if __name__ == '__main__':
    main()
