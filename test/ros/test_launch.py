"""Launch files and parameter files name only what there is, and name all of it."""

import configparser
import importlib
import sys
import types
from operator import itemgetter
from pathlib import Path

import pytest
import yaml
from lxml import etree

from sysid_ros.demo.folder import ROBOTS
from sysid_ros.nodes.sysid_nodes import KINDS, arguments_of_nodes
from sysid_ros.settings import StrictSettings, load_yaml, parse_settings

ROOT = Path(__file__).resolve().parents[2]
CONFIG, LAUNCH = ROOT / 'config', ROOT / 'launch'
# Executables of other packages, each by its package, and what they read.
OTHERS = {'rviz2': 'rviz2', 'robot_state_publisher': 'robot_state_publisher'}
# Parameters that rclpy declares itself.
FOREIGN = {'use_sim_time'}


def entry_points():
    """Executables, and the modules they run."""
    parsed = configparser.ConfigParser()
    parsed.read(ROOT / 'entry_points.txt')
    return {name: target.split(':')[0] for name, target in parsed['console_scripts'].items()}


EXECUTABLES = entry_points()
# Runs nodes that the command line names, and is none.
COMPOSED = 'sysid_nodes'
NODES = {
    name: module for name, module in EXECUTABLES.items()
    if module.startswith('sysid_ros.nodes') and name != COMPOSED}


def settings_of(executable):
    """The class whose fields are the parameters of a node."""
    module = importlib.import_module(NODES[executable])
    used = [
        value for value in vars(module).values()
        if isinstance(value, type) and getattr(value, 'settings_class', None) is not None
        and value.__module__ == module.__name__
    ]
    if used:
        return used[0].settings_class
    return next(
        value for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, StrictSettings)
        and name.endswith('Settings') and value.__module__ == module.__name__)


def parameters_in(file):
    """Sections of a parameter file: node name and its parameters; '**' for any node."""
    for key, section in load_yaml(file).items():
        yield key.rpartition('/')[2], section['ros__parameters']


def positional_name(made):
    """The name of an argument."""
    return made.positional[0]


class Launch:
    """Stands for ``launch`` and ``launch_ros``: remembers what launch files make."""

    def __init__(self, monkeypatch, tmp_path):
        self.made = []
        names = {
            'launch': ['LaunchContext', 'LaunchDescription', 'LaunchDescriptionEntity'],
            'launch.actions': [
                'DeclareLaunchArgument', 'EmitEvent', 'ExecuteProcess',
                'IncludeLaunchDescription', 'OpaqueFunction', 'RegisterEventHandler'],
            'launch.conditions': ['IfCondition', 'UnlessCondition'],
            'launch.event_handlers': ['OnProcessExit'],
            'launch.events': ['Shutdown'],
            'launch.launch_description_sources': ['PythonLaunchDescriptionSource'],
            'launch.substitutions': ['LaunchConfiguration'],
            'launch_ros': [], 'launch_ros.actions': ['Node'],
            'launch_ros.parameter_descriptions': ['ParameterValue'],
            'ament_index_python': [], 'ament_index_python.packages': [],
        }
        for module, members in names.items():
            made = types.ModuleType(module)
            for member in members:
                setattr(made, member, self.kind(member, tmp_path))
            monkeypatch.setitem(sys.modules, module, made)
        packages = sys.modules['ament_index_python.packages']
        packages.get_package_share_directory = {'sysid_ros': str(ROOT)}.__getitem__

    def kind(self, name, tmp_path):
        made = self.made

        class Made:
            def __init__(self, *positional, **named):
                self.kind, self.positional, self.named = name, positional, named
                made.append(self)
                if name == 'OpaqueFunction':
                    named['function'](None)

            def perform(self, context):
                known = {'description': CONFIG / 'demo' / 'demo_robot.urdf'}
                return str(known.get(positional_name(self), tmp_path / 'folder'))

        return Made

    def run(self, file):
        """Everything that a launch file makes, by its kind."""
        space = {'__name__': 'launch_file'}
        exec(compile(file.read_text(), str(file), 'exec'), space)  # noqa: S102 (it is ours)
        space['generate_launch_description']()
        return self.made


@pytest.fixture(params=sorted(LAUNCH.glob('*.launch.py')), ids=lambda file: file.name)
def launched(request, monkeypatch, tmp_path):
    return Launch(monkeypatch, tmp_path).run(request.param)


def nodes(launched):
    """Nodes of this package, those that share a process as if they had one each."""
    for made in launched:
        if made.kind == 'Node' and made.named['package'] == 'sysid_ros':
            if made.named['executable'] == COMPOSED:
                yield from composed(made)
            else:
                yield made.named


def composed(made):
    """Nodes of a process as it is told of them, in the terms of nodes with one each."""
    own, common = arguments_of_nodes(made.named['arguments'])
    assert not common
    for name, words in own.items():
        values = dict(
            (word[0].partition(':=')[0], word[1]) for option, word in pairs(words)
            if option == '-p')
        files = [word for option, word in pairs(words) if option == '--params-file']
        yield {'executable': name, 'name': name, 'parameters': [*files, values]}


def pairs(words):
    """Options and their values."""
    return list(zip(words[::2], words[1::2], strict=True))


def others(launched):
    """Nodes of other packages, by their executables."""
    return {made.named['executable']: made.named for made in launched
            if made.kind == 'Node' and made.named['package'] != 'sysid_ros'}


def declared(launched):
    return {made.positional[0] for made in launched if made.kind == 'DeclareLaunchArgument'}


def test_every_executable_of_a_launch_file_is_installed_or_known(launched):
    assert list(nodes(launched)) or others(launched)
    for node in nodes(launched):
        assert node['executable'] in EXECUTABLES
    for executable, node in others(launched).items():
        assert OTHERS[executable] == node['package']


def test_rviz_is_given_the_configuration_and_the_publisher_of_tf_the_description_as_text(
    monkeypatch, tmp_path,
):
    shown = others(Launch(monkeypatch, tmp_path).run(LAUNCH / 'view.launch.py'))
    option, file, frame_option, frame = shown['rviz2']['arguments']
    assert (option, frame_option) == ('-d', '-f')
    assert Path(file) == CONFIG / 'rviz' / 'sysid.rviz' and Path(file).is_file()
    assert positional_name(frame) == 'fixed_frame'
    (parameters,) = shown['robot_state_publisher']['parameters']
    text = parameters['robot_description']
    assert text.named == {'value_type': str}
    assert positional_name(text).startswith('<?xml')


@pytest.mark.parametrize('name', ['identify', 'demo'])
def test_rviz_is_started_on_request_alone_with_arguments_that_it_has(name, monkeypatch, tmp_path):
    known = declared(Launch(monkeypatch, tmp_path).run(LAUNCH / 'view.launch.py'))
    made = Launch(monkeypatch, tmp_path).run(LAUNCH / f'{name}.launch.py')
    (included,) = (one for one in made if one.kind == 'IncludeLaunchDescription')
    (source,) = included.positional
    assert Path(positional_name(source)) == LAUNCH / 'view.launch.py'
    assert dict(included.named['launch_arguments']).keys() <= known
    assert positional_name(positional_name(included.named['condition'])) == 'rviz'
    (rviz,) = (one for one in made if one.kind == 'DeclareLaunchArgument'
               and positional_name(one) == 'rviz')
    assert rviz.named['default_value'] == 'false'


def test_every_parameter_of_a_launch_file_is_declared(launched):
    for node in nodes(launched):
        known = set(settings_of(node['executable']).model_fields) | FOREIGN
        for source in node['parameters']:
            if isinstance(source, dict):
                assert set(source) <= known, node['name']


def test_every_file_of_a_launch_file_exists_and_is_of_its_node(launched):
    for node in nodes(launched):
        files = [source for source in node['parameters'] if isinstance(source, str)]
        assert files
        known = set(settings_of(node['executable']).model_fields)
        for file in files:
            for name, parameters in parameters_in(file):
                if name in ('**', node['name']):
                    assert set(parameters) <= known, f'{file}: {name}'
        assert Path(files[0]).name == f'{node["executable"]}.yaml'


def test_nodes_that_share_a_process_are_given_what_they_are_given_apart(monkeypatch, tmp_path):
    launched = Launch(monkeypatch, tmp_path).run(LAUNCH / 'identify.launch.py')
    made = {'apart': {}, 'together': {}}
    for one in launched:
        if one.kind == 'Node':
            together = one.named['executable'] == COMPOSED
            for node in composed(one) if together else [one.named]:
                made['together' if together else 'apart'][node['name']] = [
                    source if isinstance(source, (str, dict)) else positional_name(source)
                    for source in node['parameters']]
    monitor = made['apart'].pop('monitor_node')
    assert monitor[-1].keys() == {'plan', 'use_sim_time'}
    # What is started only where it is asked for, and by itself.
    made['apart'].pop('campaign_node')
    made['apart'].pop('panel_node')
    for kind in made.values():
        for name, (*files, values) in kind.items():
            kind[name] = [*files, {key: positional_name(value) for key, value in values.items()}]
    assert made['apart'] == made['together']
    assert made['apart'].keys() == KINDS.keys()


def as_text(value):
    """What launch files in XML write for a value of one in Python."""
    if isinstance(value, list):
        return ''.join(map(as_text, value))
    if getattr(value, 'kind', '') == 'LaunchConfiguration':
        return f'$(var {positional_name(value)})'
    return value.replace(str(ROOT), '$(find-pkg-share sysid_ros)')


def in_terms_of_xml(made):
    """A process that a launch file in Python makes."""
    named = made.named
    found = {
        'pkg': named['package'], 'exec': named['executable'], 'output': named['output'],
        'namespace': as_text(named['namespace']), 'respawn': as_text(named['respawn']),
        'ros_args': ' '.join(map(as_text, named['ros_arguments'])), 'param': []}
    if 'name' in named:
        found['name'] = named['name']
    if 'condition' in named:
        key = {'IfCondition': 'if', 'UnlessCondition': 'unless'}[named['condition'].kind]
        found[key] = as_text(positional_name(named['condition']))
    if 'arguments' in named:
        # Words of a line need no quotes.
        found['args'] = ' '.join(map(as_text, named['arguments'])).replace("'", '')
    for source in named.get('parameters', ()):
        found['param'] += [{'from': as_text(source)}] if not isinstance(source, dict) else [
            {'name': key, 'value': as_text(value)} for key, value in source.items()]
    return found


def xml_entities(file):
    """Tag and attributes of each entity of a launch file, lists of others within."""
    for entity in etree.parse(str(file)).getroot().iterchildren(etree.Element):
        found = dict(entity.attrib)
        for child in entity:
            found.setdefault(child.tag, []).append(dict(child.attrib))
        yield entity.tag, found


def yaml_entities(file):
    """Tag and attributes of each entity of a launch file in YAML."""
    for entity in load_yaml(file)['launch']:
        (pair,) = entity.items()
        yield pair


@pytest.mark.parametrize(('suffix', 'entities'), [('xml', xml_entities), ('yaml', yaml_entities)])
def test_a_launch_file_in_xml_or_yaml_is_the_one_in_python(
    suffix, entities, monkeypatch, tmp_path
):
    read = list(entities(LAUNCH / f'identify.launch.{suffix}'))
    made = Launch(monkeypatch, tmp_path).run(LAUNCH / 'identify.launch.py')
    arguments = [
        {'name': positional_name(one)} | {
            key: as_text(one.named[own]) for key, own in (
                ('default', 'default_value'), ('description', 'description'))
            if own in one.named}
        for one in made if one.kind == 'DeclareLaunchArgument']
    assert [found for tag, found in read if tag == 'arg'] == arguments
    processes = [{'param': []} | found for tag, found in read if tag == 'node']
    for found in processes:
        if 'args' in found:
            found['args'] = ' '.join(found['args'].split())
    wanted = [in_terms_of_xml(one) for one in made if one.kind == 'Node']
    assert sorted(processes, key=itemgetter('exec')) == sorted(wanted, key=itemgetter('exec'))
    (included,) = (one for one in made if one.kind == 'IncludeLaunchDescription')
    (other,) = (found for tag, found in read if tag == 'include')
    assert other == {
        'file': as_text(positional_name(positional_name(included))),
        'if': as_text(positional_name(included.named['condition'])),
        'arg': [{'name': name, 'value': as_text(value)}
                for name, value in included.named['launch_arguments']]}


def test_every_argument_that_is_used_is_declared(launched):
    used = {made.positional[0] for made in launched if made.kind == 'LaunchConfiguration'}
    assert used == declared(launched)


@pytest.mark.parametrize('executable', sorted(NODES))
def test_a_node_has_a_file_that_lists_its_parameters_at_their_defaults(executable):
    file = CONFIG / f'{executable}.yaml'
    sections = dict(parameters_in(file))
    assert list(sections) == ['**']
    kind = settings_of(executable)
    assert set(sections['**']) == set(kind.model_fields)
    given = {name: tuple(value) if isinstance(value, list) else value
             for name, value in sections['**'].items()}
    assert parse_settings(kind, given, str(file)) == kind()


@pytest.mark.parametrize('file', sorted(CONFIG.glob('robots/*.yaml')), ids=lambda file: file.stem)
def test_parameters_of_a_robot_are_those_of_the_nodes(file):
    sections = dict(parameters_in(file))
    assert sections
    for name, parameters in sections.items():
        given = {key: tuple(value) if isinstance(value, list) else value
                 for key, value in parameters.items()}
        parse_settings(settings_of(name), given, f'{file}: {name}')


@pytest.mark.parametrize('folder', ROBOTS.values())
def test_parameters_of_the_demo_are_those_of_the_nodes(folder):
    executables = {'true_model_controller': 'computed_torque_controller'}
    for name, parameters in parameters_in(CONFIG / folder / 'nodes.yaml'):
        given = {key: tuple(value) if isinstance(value, list) else value
                 for key, value in parameters.items()}
        parse_settings(settings_of(executables.get(name, name)), given, name)


def test_every_node_describes_its_parameters():
    for executable in NODES:
        for name, field in settings_of(executable).model_fields.items():
            assert field.description, f'{executable}: {name}'


def test_a_parameter_that_does_not_exist_would_be_found(tmp_path):
    file = tmp_path / 'wrong.yaml'
    file.write_text(yaml.safe_dump({'/**': {'ros__parameters': {'speed': 1.0}}}))
    (_, parameters), = parameters_in(file)
    assert not set(parameters) <= set(settings_of('excitation_node').model_fields)
