"""FAULTS 25, 26, 27 and 29: parameters and settings that must not be believed."""

from __future__ import annotations

import math
import time
from typing import Literal

import numpy as np
import pytest

from sysid_ros import settings as settings_module
from sysid_ros.errors import ConfigurationError, ModelError, ParameterError
from sysid_ros.estimation.fit_settings import FitSettings
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification, IdentificationSettings
from sysid_ros.mechanics.configuration import RobotSettings
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import Parameter, ParameterSet
from sysid_ros.settings import StrictSettings, load_yaml, parse_settings


class Inner(StrictSettings):
    gain: float = 1.0
    offsets: tuple[float, float] = (0.0, 0.0)


class Outer(StrictSettings):
    inner: Inner = Inner()
    several: tuple[Inner, ...] = ()
    named: dict[str, Inner] = {}
    optional: Inner | None = None
    numbers: dict[str, float] = {}
    which: Literal['one', 'two'] | float = 'one'


@pytest.fixture
def written(tmp_path):
    """Write a YAML file and read it as settings."""
    def read(text, kind=Outer):
        path = tmp_path / 'settings.yaml'
        path.write_text(text)
        return parse_settings(kind, load_yaml(path), 'settings.yaml')
    return read


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
def test_25_a_parameter_that_is_not_finite_is_refused_by_name(bad):
    parameters = ParameterSet.of([Parameter('arm.mass', 'kg', 1.0), Parameter('j.armature', 'kg')])
    with pytest.raises(ParameterError, match='j.armature: values is not finite .*a finite number'):
        parameters.with_values({'j.armature': bad})
    with pytest.raises(ParameterError, match='arm.mass: values is not finite'):
        parameters.with_values(np.array([bad, bad]))
    with pytest.raises(ParameterError, match='not finite'):
        ParameterSet.of([Parameter('arm.mass', 'kg', bad)])


@pytest.mark.parametrize('number', ['.nan', '.inf', '-.inf', '.NaN', 'nan', 'inf', '1e999'])
@pytest.mark.parametrize(('text', 'where'), [
    ('inner: {{gain: {}}}', 'inner.gain'),
    ('inner: {{offsets: [0.0, {}]}}', 'inner.offsets.1'),
    ('several: [{{gain: 1}}, {{gain: {}}}]', 'several.1.gain'),
    ('numbers: {{a: {}}}', 'numbers.a'),
    ('named: {{a: {{gain: {}}}}}', 'named.a.gain'),
    ('which: {}', 'which'),
])
def test_25_a_setting_that_is_not_finite_is_refused_with_its_place(written, text, where, number):
    with pytest.raises(ConfigurationError, match=rf'^settings\.yaml: {where}: .*finite'):
        written(text.format(number))


def test_25_settings_made_in_python_refuse_what_is_not_finite():
    with pytest.raises(ConfigurationError, match='Inner: gain: a number is not finite .*found nan'):
        Inner(gain=math.nan)


def test_25_gravity_and_locked_positions_that_are_not_finite_are_refused():
    text = (
        '<robot name="r"><link name="base"/><link name="a"/><joint name="j" type="continuous">'
        '<parent link="base"/><child link="a"/></joint></robot>'
    )
    with pytest.raises(ModelError, match='gravity'):
        RobotModel.from_urdf(text, gravity=(0.0, 0.0, math.nan))
    with pytest.raises(ModelError, match=r'locked_joints\.j: .*not finite'):
        RobotModel.from_urdf(text, locked_joints={'j': math.nan})


@pytest.mark.parametrize(('text', 'message'), [
    ('iner: {gain: 1}', "unknown key 'iner' .*allowed .*inner.*Did you mean 'inner'"),
    ('inner: {gian: 1}', r"unknown key 'inner\.gian' \(allowed gain, offsets\).*mean 'gain'"),
    ('several: [{gain: 1}, {ofsets: [1, 2]}]', r"'several\.1\.ofsets'.*mean 'offsets'"),
    ('named: {a: {gainn: 1}}', r"'named\.a\.gainn'.*mean 'gain'"),
    ('optional: {gains: 1}', r"'optional\.gains'.*mean 'gain'"),
    ('xyzzy: 1', "unknown key 'xyzzy' .*Remove it"),
])
def test_26_a_misspelt_key_is_refused_with_the_nearest_known_one(written, text, message):
    with pytest.raises(ConfigurationError, match=rf'^settings\.yaml: .*{message}'):
        written(text)


def test_26_a_misspelt_key_is_named_before_the_key_that_it_leaves_missing(written):
    text = 'robot: {urdf: a.urdf}\nrecordin: {}\n'
    with pytest.raises(ConfigurationError, match="'recordin'.*Did you mean 'recording'"):
        written(text, IdentificationSettings)


def test_26_a_misspelt_key_of_the_robot_is_refused(written):
    with pytest.raises(ConfigurationError, match="'terms.armatur'.*Did you mean 'armature'"):
        written('urdf: a.urdf\nterms: {armatur: all}\n', RobotSettings)


def test_26_a_parameter_of_an_unknown_name_is_refused_with_the_nearest_one():
    parameters = ParameterSet.of([Parameter('elbow.armature', 'kg·m²')])
    with pytest.raises(ParameterError, match="'elbow.armatur'.*Did you mean 'elbow.armature'"):
        parameters['elbow.armatur']


@pytest.mark.parametrize(('text', 'found', 'allowed'), [
    ('urdf: a\ngravity: [0, 9.81]', 2, 3),
    ('urdf: a\ngravity: [0, 0, 0, 9.81]', 4, 3),
    ('urdf: a\nrotors: [{name: r, joint: j, ratio: 1, link: l, inertial: [1, 2]}]', 2, 10),
    ('urdf: a\nrotors: [{name: r, joint: j, ratio: 1, link: l, axis: [1]}]', 1, 3),
])
def test_27_a_list_of_the_wrong_length_is_refused_with_both_lengths(written, text, found, allowed):
    message = rf'wrong length \(found {found} entries; allowed {allowed}\)'
    with pytest.raises(ConfigurationError, match=message):
        written(text, RobotSettings)


def test_27_a_list_per_joint_of_the_wrong_length_is_refused(tmp_path):
    (tmp_path / 'r.urdf').write_text(
        '<robot name="r"><link name="base"/><link name="a"/><joint name="j" type="continuous">'
        '<parent link="base"/><child link="a"/></joint></robot>'
    )
    model = RobotSettings(urdf='r.urdf').build(tmp_path)
    settings = IdentificationSettings.model_construct(
        processing=Processing(), fit=FitSettings(minimum_velocity=(0.1, 0.2))
    )
    still = np.zeros((50, 1))
    data = Dataset(
        ('j',), np.arange(50) / 100.0, still, still, still, still, still == 0.0, ((0, 50),), 100.0
    )
    with pytest.raises(ConfigurationError, match='minimum_velocity: .*found 2 numbers; allowed 1,'):
        FitSetup(Identification(settings, tmp_path), model).problem(data)


@pytest.mark.parametrize('text', [
    'inner: !!python/object/apply:os.system ["touch {marker}"]',
    'inner: !!python/object/new:subprocess.Popen [["touch", "{marker}"]]',
    'inner: !!python/name:os.system',
    'inner: !!python/module:os',
    'inner: !!python/tuple [1, 2]',
    '!!python/object:sysid_ros.settings.StrictSettings {{}}',
])
def test_29_yaml_that_asks_for_python_objects_is_refused(written, tmp_path, text):
    marker = tmp_path / 'marker'
    with pytest.raises(ConfigurationError, match='settings.yaml: is not plain YAML: .*python'):
        written(text.format(marker=marker))
    assert not marker.exists()


def test_29_a_huge_file_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / 'large.yaml'
    with path.open('wb') as file:
        file.truncate(settings_module.MAX_YAML_BYTES + 1)
    with pytest.raises(ConfigurationError, match=r'too large \(found 1000001 bytes; allowed '):
        load_yaml(path)


def test_29_aliases_that_multiply_or_never_end_are_refused(written):
    levels = ['a0: &a0 [x, x, x, x, x, x, x, x, x]']
    levels += [f'a{k}: &a{k} [{", ".join([f"*a{k - 1}"] * 9)}]' for k in range(1, 10)]
    for text in ('\n'.join(levels), 'a: &a [*a]', 'a: &a {b: *a}'):
        with pytest.raises(ConfigurationError, match='too many values .*100000'):
            written(text)


def test_29_merges_that_multiply_are_refused_before_they_are_made(written):
    levels = ['a0: &a0 {x: 1}', 'b0: &b0 {y: 1}']
    for k in range(1, 40):
        levels += [f'{name}{k}: &{name}{k} {{<<: [*a{k - 1}, *b{k - 1}]}}' for name in 'ab']
    with pytest.raises(ConfigurationError, match='too many values .*100000'):
        written('\n'.join(levels))


def test_29_deep_nesting_is_refused_where_the_loader_in_c_would_end_the_process(written):
    for text in ('[' * 100_000, '{a: ' * 100_000, '- ' * 100_000 + 'x'):
        with pytest.raises(ConfigurationError, match='more than 100 levels of nesting'):
            written(text)


def test_29_a_megabyte_of_values_is_refused_soon(written):
    start = time.process_time()
    with pytest.raises(ConfigurationError, match='too many values'):
        written('a: [' + '1, ' * 300_000 + '1]')
    assert time.process_time() - start < 3.0


def test_29_aliases_that_spare_repetition_are_read(written):
    read = written('inner: &i {gain: 2.0}\noptional: *i\nnamed: {a: {<<: *i, gain: 3.0}}')
    assert read.inner == read.optional == Inner(gain=2.0)
    assert read.named['a'].gain == 3.0


@pytest.mark.parametrize('text', [
    '[' * 3_000, '{' * 3_000, 'a: [1', 'a: !!int "x"', 'a: 2020-13-45', 'a: "\x00"',
    '? [a]\n: 1', '\ta: 1',
])
def test_29_text_that_is_not_plain_yaml_is_refused_as_that(written, text):
    with pytest.raises(ConfigurationError, match='settings.yaml: is not plain YAML'):
        written(text)


@pytest.mark.parametrize('text', ['', '3', '- a\n- b', 'text'])
def test_29_yaml_that_is_no_mapping_is_refused(written, text):
    with pytest.raises(ConfigurationError, match='is not a mapping .*allowed key: value lines'):
        written(text)


@pytest.mark.parametrize('text', [
    'inner: {gain: 1}\ninner: {gain: 2}', 'inner: {gain: 1, gain: 2}'])
def test_29_a_key_that_is_given_twice_is_refused(written, text):
    with pytest.raises(ConfigurationError, match="the key '(inner|gain)' is given twice"):
        written(text)


def test_29_a_file_that_is_not_there_or_not_text_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match='absent.yaml: .* there is no such file'):
        load_yaml(tmp_path / 'absent.yaml')
    (tmp_path / 'binary.yaml').write_bytes(b'\xff\xfe\x80')
    with pytest.raises(ConfigurationError, match='binary.yaml: cannot be read'):
        load_yaml(tmp_path / 'binary.yaml')
