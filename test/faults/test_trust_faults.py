"""FAULTS 61 and 62: what comes from outside names nothing, runs nothing, and breaks nothing."""

import ast
import json
import os
from pathlib import Path

import pytest
import yaml
from lxml import etree

import sysid_ros
from sysid_ros.data_folder import DataFolder
from sysid_ros.errors import ConfigurationError
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.release.description_export import export_description, verify_export
from sysid_ros.release.revision import Content
from sysid_ros.release.store import RevisionStore, UnknownRevisionError
from sysid_ros.release.yaml_export import export_yaml
from sysid_ros.robot.model import RobotModel
from sysid_ros.runs.commit import initial_content

SOURCE = Path(sysid_ros.__file__).parent
GENERATED = ('msg', 'srv', 'action')
FILES = sorted(
    path for path in SOURCE.rglob('*.py') if path.relative_to(SOURCE).parts[0] not in GENERATED)

# Modules that run what they read, and functions that run text.
FORBIDDEN_MODULES = {
    'pickle', 'cPickle', 'dill', 'cloudpickle', 'joblib', 'marshal', 'shelve', 'commands', 'pty',
    'imp', 'code', 'codeop',
}
FORBIDDEN_CALLS = {
    'eval', 'exec', 'compile', '__import__', 'os.system', 'os.popen', 'subprocess.getoutput',
    'subprocess.getstatusoutput', 'yaml.unsafe_load', 'yaml.full_load', 'yaml.load_all',
    'yaml.unsafe_load_all', 'yaml.full_load_all', 'pd.read_pickle',
}
SAFE_LOADERS = {'_SafeLoader', 'yaml.SafeLoader', 'yaml.CSafeLoader'}
HOSTILE = (
    '<b onload="alert(1)">', "it's", '"quoted"', '&amp; &lt;', "'); DROP TABLE revisions;--",
    '{{ 7 * 7 }}', '${7*7}', '$(touch pwned)', '`id`', '%s%n', '!!python/object:os.system',
)


def dangers(source):
    """What a module does that could run what it is given, with the line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or '']
        else:
            names = []
        for name in names:
            if name.split('.')[0] in FORBIDDEN_MODULES:
                yield f'line {node.lineno}: imports {name}'
        if isinstance(node, ast.Call):
            yield from _dangerous_call(node)


def _dangerous_call(node):
    called = ast.unparse(node.func)
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    if called in FORBIDDEN_CALLS:
        yield f'line {node.lineno}: calls {called}'
    for flag in ('shell', 'allow_pickle'):
        value = keywords.get(flag)
        if value is not None and not (isinstance(value, ast.Constant) and value.value is False):
            yield f'line {node.lineno}: {flag} in {called}'
    if called == 'np.load' and 'allow_pickle' not in keywords:
        yield f'line {node.lineno}: np.load without allow_pickle=False'
    if called == 'yaml.load':
        loader = keywords.get('Loader', node.args[1] if len(node.args) > 1 else None)
        if loader is None or ast.unparse(loader) not in SAFE_LOADERS:
            yield f'line {node.lineno}: yaml.load without a safe loader'


@pytest.mark.parametrize('path', FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_62_no_module_unpickles_evaluates_or_calls_a_shell(path):
    assert list(dangers(path.read_text(encoding='utf-8'))) == []


@pytest.mark.parametrize('source', [
    'import pickle', 'from pickle import loads', 'import marshal', 'eval(text)', 'exec(text)',
    'import os\nos.system(text)', 'import subprocess\nsubprocess.run(text, shell=True)',
    'subprocess.Popen(text, shell=flag)', 'import yaml\nyaml.load(text)',
    'yaml.load(text, Loader=yaml.Loader)', 'yaml.load(text, yaml.UnsafeLoader)',
    'yaml.full_load(text)', 'np.load(path)', 'np.load(path, allow_pickle=True)',
])
def test_the_search_for_dangers_finds_them(source):
    assert list(dangers(source))


@pytest.mark.parametrize('source', [
    're.compile(text)', 'yaml.safe_load(text)', 'yaml.load(text, Loader=_SafeLoader)',
    'subprocess.run([program, text])', 'np.load(path, allow_pickle=False)', 'model.eval()',
])
def test_the_search_for_dangers_lets_good_code_be(source):
    assert not list(dangers(source))


def robot_named(name):
    """A pendulum whose robot, link and joint have a name as a stranger may choose it."""
    root = etree.Element('robot', name=name)
    etree.SubElement(root, 'link', name='base')
    link = etree.SubElement(root, 'link', name=f'rod {name}')
    inertial = etree.SubElement(link, 'inertial')
    etree.SubElement(inertial, 'origin', xyz='0 0 0.5')
    etree.SubElement(inertial, 'mass', value='1')
    moments = {'ixx': '0.1', 'ixy': '0', 'ixz': '0', 'iyy': '0.1', 'iyz': '0', 'izz': '0.1'}
    etree.SubElement(inertial, 'inertia', **moments)
    joint = etree.SubElement(root, 'joint', name=f'pivot {name}', type='continuous')
    etree.SubElement(joint, 'parent', link='base')
    etree.SubElement(joint, 'child', link=f'rod {name}')
    etree.SubElement(joint, 'axis', xyz='0 1 0')
    etree.SubElement(joint, 'limit', effort='1', velocity='1')
    return RobotModel.from_urdf(etree.tostring(root).decode())


@pytest.mark.parametrize('name', HOSTILE)
def test_62_names_from_a_description_are_text_and_nothing_else(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    robot = robot_named(name)
    model = TorqueModel(robot)
    parameters = model.parameters.with_values({f'rod {name}.mass': 1.1})
    exported = export_description(robot, parameters)
    assert verify_export(robot, parameters, exported) < 1e-9
    reloaded = etree.fromstring(exported.xml)
    assert reloaded.get('name') == name
    assert [link.get('name') for link in reloaded.iter('link')] == ['base', f'rod {name}']
    back = yaml.safe_load(export_yaml(robot, parameters))['parameters']
    assert [entry['value'] for entry in back.values()] == parameters.values.tolist()
    content = Content(exported.xml, parameters, 'ab' * 32, name, notes=(name,))
    with RevisionStore('revisions.sqlite') as store:
        store.begin(initial_content(model))
        revision = store.commit(content, '', name)
        store.acknowledge(name, revision.id)
        found = store.get(revision.id)
        assert (found.comment, found.content.estimate) == (name, name)
        assert found.content.same_as(content)
        assert json.loads(found.record)['content']['notes'] == [name]
        with pytest.raises(UnknownRevisionError):
            store.get(name)
        assert store.acknowledgements() == {name: revision.id}
        assert store.verify() == ()
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {'revisions.sqlite', 'revisions.sqlite-head'}


@pytest.mark.parametrize('name', [*HOSTILE, '..', '../../etc/passwd', 'a/../../b', '/dev/null'])
@pytest.mark.parametrize('kind', ['motion', 'recording', 'estimate'])
def test_61_a_name_that_is_no_id_never_becomes_a_path(kind, name, tmp_path):
    with pytest.raises(ConfigurationError, match='not an id'):
        getattr(DataFolder(tmp_path), kind)(name)
    assert not list(tmp_path.iterdir())


def test_61_a_link_out_of_the_data_folder_is_not_followed(tmp_path):
    outside = tmp_path / 'outside'
    outside.mkdir()
    data = tmp_path / 'data'
    (data / 'estimates').mkdir(parents=True)
    os.symlink(outside, data / 'estimates' / 'fit_1')
    os.symlink(outside / 'other.sqlite', data / 'revisions.sqlite')
    with pytest.raises(ConfigurationError, match='leads out'):
        DataFolder(data).estimate('fit_1')
    with pytest.raises(ConfigurationError, match='leads out'):
        _ = DataFolder(data).revisions
