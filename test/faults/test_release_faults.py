"""FAULTS 56 and 59, the part of the files: nothing unphysical and nothing half is written."""

from __future__ import annotations

import os

import numpy as np
import pytest

from sysid_ros.errors import ReleaseError
from sysid_ros.mechanics.joint_terms.terms import Armature, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.release.atomic import write_atomically
from sysid_ros.release.description_export import export_description, write_description
from sysid_ros.release.link_shares import Inertial
from sysid_ros.robot.model import RobotModel

PENDULUM = """<robot name="pendulum"><link name="base"/>
<link name="rod"><inertial><origin xyz="0 0 0.5"/><mass value="1"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="{}"/></inertial></link>
<joint name="pivot" type="continuous"><parent link="base"/><child link="rod"/>
<axis xyz="0 1 0"/><limit effort="1" velocity="1"/></joint></robot>"""


def pendulum(izz: float = 0.1):
    robot = RobotModel.from_urdf(PENDULUM.format(izz))
    return robot, TorqueModel(robot, (ViscousFriction(), Armature())).parameters


@pytest.mark.parametrize(('name', 'value'), [
    ('rod.mass', 0.0), ('rod.mass', -1.0), ('rod.inertia_zz', 0.9), ('rod.first_moment_x', 2.0)])
def test_56_an_inconsistent_body_is_refused_by_name(name, value):
    robot, parameters = pendulum()
    with pytest.raises(ReleaseError, match='link "rod": .*belong to no real body'):
        export_description(robot, parameters.with_values({name: value}))


def test_56_an_inconsistent_prior_that_was_not_identified_is_refused_too():
    robot, parameters = pendulum(izz=0.3)
    values = parameters.values.copy()
    values[parameters.body_slice('rod')] = robot.inertial_prior[0]
    with pytest.raises(ReleaseError, match='belong to no real body'):
        export_description(robot, parameters.with_values(values))


@pytest.mark.parametrize('name', ['pivot.viscous_friction', 'pivot.armature'])
def test_56_negative_friction_and_armature_are_refused(name):
    robot, parameters = pendulum()
    with pytest.raises(ReleaseError, match='pivot: .* is negative'):
        export_description(robot, parameters.with_values({name: -1e-3}))


def test_56_numbers_are_judged_as_written():
    thin = Inertial(1.0, np.array([0.0, 0.0, 100.0]), np.diag([1e-3, 1e-3, 2e-3 + 1e-9]))
    assert not thin.is_consistent()
    solid = Inertial(1.0, np.array([0.0, 0.0, 100.0]), np.diag([1e-3, 1e-3, 2e-3 - 1e-9]))
    assert solid.is_consistent()


def test_56_a_refused_export_writes_nothing(tmp_path):
    robot, parameters = pendulum()
    with pytest.raises(ReleaseError):
        write_description(tmp_path / 'a.urdf', robot, parameters.with_values({'rod.mass': -1.0}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize('call', ['fsync', 'replace'])
def test_59_a_failure_in_mid_write_leaves_the_old_file(tmp_path, monkeypatch, call):
    path = tmp_path / 'a.urdf'
    path.write_bytes(b'old')

    def disk_full(*_):
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(os, call, disk_full)
    with pytest.raises(ReleaseError, match=r'a\.urdf: cannot be written: No space left'):
        write_atomically(path, b'new')
    assert path.read_bytes() == b'old'
    assert list(tmp_path.iterdir()) == [path]


def test_59_a_missing_folder_is_one_clear_error(tmp_path):
    with pytest.raises(ReleaseError, match='cannot be written: No such file'):
        write_atomically(tmp_path / 'nowhere' / 'a.urdf', b'new')
