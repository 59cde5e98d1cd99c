"""Motions written and read: bit by bit as YAML, in full precision as a table, by ROS's names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from sysid_ros.errors import ConfigurationError
from sysid_ros.excitation.design.basis import Basis, ChirpBasis, FourierBasis, QuinticBasis
from sysid_ros.excitation.design.strokes import CruiseBasis, LiftAndDropBasis, TriangleBasis
from sysid_ros.excitation.excitation import Excitation
from sysid_ros.excitation.files import (
    excitation_yaml,
    joint_trajectory,
    load_excitation,
    load_motion_csv,
    motion_csv,
    parse_excitation,
)

NAMES = ('yaw', 'pitch')
FAMILIES = [
    FourierBasis(4.0, (1, 2, 4)), QuinticBasis(3.0, 4), ChirpBasis(5.0, 0.2, 2.0),
    TriangleBasis(5.0, 0.3, 2.0), CruiseBasis(5.0, (0.3, 1.0)), LiftAndDropBasis(5.0, 2, 0.4)]


def excitation(basis: Basis) -> Excitation:
    coefficients = np.random.default_rng(0).normal(size=(len(basis.pose), 2))
    design = {'seed': np.int64(3), 'cost': np.float64(-1.5), 'criterion': 'determinant'}
    return Excitation(NAMES, basis, coefficients, 0.7, design)


@pytest.mark.parametrize('basis', FAMILIES, ids=lambda basis: basis.name)
def test_an_excitation_is_read_back_bit_by_bit(basis: Basis, tmp_path: Path) -> None:
    written, path = excitation(basis), tmp_path / 'motion.yaml'
    path.write_text(excitation_yaml(written))
    found = load_excitation(path)
    assert found.joint_names == NAMES and found.basis == basis
    assert found.speed == 0.7 and found.design == written.design
    received = parse_excitation(excitation_yaml(written), 'a message')
    np.testing.assert_array_equal(received.coefficients, found.coefficients)
    for one, other in zip(vars(found.grid(50.0)).values(), vars(written.grid(50.0)).values(),
                          strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(('change', 'words'), [
    ({'format': 'other'}, 'is not an excitation'),
    ({'surprise': 1}, 'the keys are not those'),
    ({'family': {'name': 'furier'}}, "Did you mean 'fourier'"),
    ({'family': {'name': 'fourier', 'length': 3.0}}, 'cannot be read'),
    ({'family': {'name': 'cruise', 'duration': 4.0, 'speeds': ['fast']}}, 'cannot be read'),
    ({'family': {'name': 'lift_and_drop', 'duration': 4.0, 'lifts': 10**400}}, 'cannot be read'),
    ({'coefficients': [[1.0, 2.0]]}, 'do not fit the motion'),
    ({'coefficients': [[1.0], [2.0, 3.0]]}, 'cannot be read'),
    ({'speed': 0.0}, 'cannot be played at this speed'),
    ({5: 1}, 'the keys are not those'),
    ({'speed': 10**400}, 'cannot be read'),
    ({'coefficients': [[10**400]]}, 'cannot be read'),
    ({'family': {'name': 'fourier', 'duration': 10**400, 'harmonics': [1, 2, 3]}},
     'cannot be read'),
    ({'family': {'name': 'fourier', 'duration': 4.0, 'harmonics': [1, 2, 10**9]}},
     'whole numbers from 1 to'),
    ({'family': {'name': 'quintic', 'duration': 4.0, 'poses': 10**11}}, 'allowed 2 to'),
    ({'speed': 1e-9}, 'takes too long'),
    ({'design': 'none'}, 'is no mapping'),
])
def test_a_file_that_cannot_be_played_is_refused(
    change: dict[str, object], words: str, tmp_path: Path
) -> None:
    path = tmp_path / 'motion.yaml'
    data = yaml.safe_load(excitation_yaml(excitation(FAMILIES[0]))) | change
    path.write_text(yaml.safe_dump(data))
    with pytest.raises(ConfigurationError, match=words) as caught:
        load_excitation(path)
    assert str(path) in str(caught.value)


def test_a_table_is_read_back_in_any_order_of_joints(tmp_path: Path) -> None:
    motion, path = excitation(FAMILIES[0]).grid(200.0), tmp_path / 'motion.csv'
    path.write_text(motion_csv(NAMES, motion, np.zeros_like(motion.q)))
    found = load_motion_csv(path, NAMES[::-1])
    np.testing.assert_array_equal(found.t, motion.t)
    for name in ('q', 'v', 'a'):
        np.testing.assert_array_equal(getattr(found, name)[:, ::-1], getattr(motion, name))
    scale = np.abs(motion.jerk).max()
    np.testing.assert_allclose(found.jerk[1:-1, ::-1], motion.jerk[1:-1], atol=2e-3 * scale)


@pytest.mark.parametrize(('text', 'words'), [
    ('time,position.yaw\n0,1\n1,2\n', 'is not a table of a motion'),
    ('time,position.yaw\n0,one\n', 'cannot be read'),
    ('time\n', 'is not a table of a motion'),
    ('{header},more\n' + 2 * '0,1,2,3,4,5,6\n', 'is not a table of a motion'),
    ('more,{header}\n' + 2 * '0,1,2,3,4,5,6\n', 'is not a table of a motion'),
])
def test_a_table_of_something_else_is_refused(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / 'motion.csv'
    header = ','.join(['time', *(
        f'{kind}.{name}' for kind in ('position', 'velocity', 'acceleration') for name in NAMES)])
    path.write_text(text.format(header=header))
    with pytest.raises(ConfigurationError, match=words):
        load_motion_csv(path, NAMES)


def test_times_that_do_not_rise_are_refused(tmp_path: Path) -> None:
    motion, path = excitation(FAMILIES[0]).grid(50.0), tmp_path / 'motion.csv'
    lines = motion_csv(NAMES, motion, np.zeros_like(motion.q)).splitlines()
    lines[3], lines[4] = lines[4], lines[3]
    path.write_text('\n'.join(lines))
    with pytest.raises(ConfigurationError, match='do not rise'):
        load_motion_csv(path, NAMES)


def test_a_joint_trajectory_has_the_fields_that_ros_knows() -> None:
    motion = excitation(FAMILIES[0]).grid(10.0)
    torque = np.ones_like(motion.q)
    message = joint_trajectory(NAMES, motion, torque)
    assert message['joint_names'] == list(NAMES)
    assert len(message['points']) == len(motion.t)
    point, k = message['points'][-1], len(motion.t) - 1
    assert point['positions'] == motion.q[k].tolist()
    assert point['velocities'] == motion.v[k].tolist()
    assert point['accelerations'] == motion.a[k].tolist()
    assert point['effort'] == [1.0, 1.0]
    stamp = point['time_from_start']
    assert stamp['sec'] + 1e-9 * stamp['nanosec'] == pytest.approx(motion.t[-1], abs=1e-9)
    assert 0 <= stamp['nanosec'] < 10**9
