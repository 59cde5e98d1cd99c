"""Torques of the C++ headers are those of the package, for the same numbers and states."""

import math
import subprocess
from pathlib import Path

import numpy as np
import pinocchio
import pytest

from support.cpp_programs import compile_program, pinocchio_options
from support.robot_factory import random_urdf
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    CoulombFriction,
    Stiffness,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.release.link_inertias import JOINT_FIELDS, link_inertias
from sysid_ros.robot.inertia import inertial_parameters
from sysid_ros.robot.model import RobotModel

pytestmark = pytest.mark.slow
HERE = Path(__file__).resolve().parent
DEMO_ARM = (HERE.parents[1] / 'sysid_ros/demo/demo_arm.urdf').read_text(encoding='utf-8')
STATES = 20
SMOOTHING = 0.05


@pytest.fixture(scope='module')
def program(tmp_path_factory):
    """The compiled program; takes a quarter of a minute."""
    options = pinocchio_options()
    return compile_program(
        HERE / 'torques.cpp', tmp_path_factory.mktemp('consumers') / 'torques', *options)


class Identified:
    """A robot whose parameters are others than described, and its message as words.

    Args:
        urdf: The description.
        rng: Random numbers.
        smoothing: Of dry friction.
    """

    def __init__(self, urdf, rng, smoothing=SMOOTHING):
        self.urdf, self.smoothing = urdf, smoothing
        self.robot = RobotModel.from_urdf(urdf)
        joints = self.robot.joint_names
        self.model = TorqueModel(self.robot, [
            ViscousFriction(), CoulombFriction(smoothing=smoothing), TorqueOffset(),
            # The others have none: NaN in the message.
            Armature(joints[1:]), Stiffness(joints[:1])])
        values = self.model.parameters.prior.copy()
        for body in self.model.parameters.bodies:
            block = self.model.parameters.body_slice(body)
            # Heavier by a mass somewhere: consistent.
            values[block] = values[block] + inertial_parameters(
                rng.uniform(0.1, 0.5), rng.uniform(-0.1, 0.1, 3), np.diag([2e-3, 2e-3, 1e-3]))
        first = 10 * len(self.model.parameters.bodies)
        values[first:] = rng.uniform(0.1, 2.0, len(values) - first)
        self.values = values
        order = rng.permutation(len(joints))
        self.order, self.names = order, [joints[k] for k in order]
        self.states = rng.uniform(-2.0, 2.0, (STATES, 3, len(joints)))
        self.links = {
            name: [one.mass, *one.com, *one.inertia[np.triu_indices(3)]]
            for name, one in link_inertias(self.robot, self.parameters).items()}
        self.terms = {joint: [self._term(joint, field) for field in JOINT_FIELDS]
                      for joint in joints}
        self.robot_name = self.robot.name

    @property
    def parameters(self):
        return self.model.parameters.with_values(self.values)

    def _term(self, joint, field):
        name = f'{joint}.{field}'
        known = name in self.model.parameters
        return self.values[self.model.parameters.index(name)] if known else math.nan

    def torques(self):
        """Torques of the states, and of gravity alone, in the order of ``names``."""
        q, v, a = np.moveaxis(self.states, 1, 0)
        inertial = self.values.copy()
        inertial[10 * len(self.model.parameters.bodies):] = 0.0
        still = np.zeros_like(v)
        return np.hstack([
            self.model.torque(self.values, q, v, a)[:, self.order],
            self.model.torque(inertial, q, still, still)[:, self.order]])

    def run(self, program, folder):
        """What the program answers."""
        pinocchio.buildModelFromXML(self.urdf).saveToText(str(folder / 'model.txt'))
        rows = [[self.robot_name, len(self.links), len(self.terms)]]
        rows += [[name, *numbers] for name, numbers in self.links.items()]
        rows += [[name, *numbers] for name, numbers in self.terms.items()]
        rows += [[self.smoothing], [len(self.names), STATES], self.names]
        rows += [numbers[self.order].tolist() for state in self.states for numbers in state]
        text = '\n'.join(' '.join(
            word if isinstance(word, str) else repr(float(word)) if not isinstance(word, int)
            else str(word) for word in row) for row in rows)
        (folder / 'numbers.txt').write_text(text, encoding='utf-8')
        return subprocess.run(
            [program, folder / 'model.txt', folder / 'numbers.txt'], capture_output=True,
            text=True, check=False)


@pytest.mark.parametrize('urdf', [
    pytest.param(DEMO_ARM, id='demo arm'),
    # Revolute, continuous and prismatic joints in branches, links fixed to others.
    pytest.param(random_urdf(3, 9), id='random tree'),
])
@pytest.mark.parametrize('smoothing', [SMOOTHING, 0.0])
def test_torques_are_those_of_the_package(urdf, smoothing, program, tmp_path):
    identified = Identified(urdf, np.random.default_rng(1), smoothing)
    finished = identified.run(program, tmp_path)
    assert finished.returncode == 0, finished.stderr
    found = np.array([line.split() for line in finished.stdout.splitlines()], dtype=float)
    expected = identified.torques()
    # Both are exact to rounding; torques are some hundred.
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9)


@pytest.fixture
def arm():
    return Identified(DEMO_ARM, np.random.default_rng(2))


def another_robot(arm):
    arm.robot_name = 'another_arm'


def an_unknown_link(arm):
    arm.links['tool'] = arm.links['gripper']


def a_fixed_link_left_out(arm):
    del arm.links['gripper']


def a_body_left_out(arm):
    del arm.links['forearm']


def a_joint_left_out(arm):
    del arm.terms['elbow_pitch']


def an_unknown_joint(arm):
    arm.terms['knee'] = arm.terms['elbow_pitch']


def a_number_that_is_none(arm):
    arm.links['forearm'][1] = math.nan


def friction_that_drives(arm):
    arm.terms['elbow_pitch'][0] = -0.1


def a_controller_without_a_joint(arm):
    arm.names, arm.order = arm.names[:-1], arm.order[:-1]


def a_controller_with_a_joint_twice(arm):
    arm.names = [*arm.names[:-1], arm.names[0]]


def negative_smoothing(arm):
    arm.smoothing = -0.1


@pytest.mark.parametrize(('change', 'reason'), [
    (another_robot, "the parameters are of another robot: found 'another_arm'"),
    (an_unknown_link, "no such link on a moving body: found 'tool'"),
    (a_fixed_link_left_out, "nothing is known of a link: found 'gripper' of 0.4"),
    (a_body_left_out, "nothing is known of a body: found joint 'elbow_pitch'"),
    (a_joint_left_out, "nothing is known of a joint: found 'elbow_pitch'"),
    (an_unknown_joint, "no such joint in the description: found 'knee'"),
    (a_number_that_is_none, "link 'forearm' cannot have this inertia"),
    (friction_that_drives, "joint 'elbow_pitch' cannot have this viscous_friction: found -0.1"),
    (a_controller_without_a_joint, 'found 3, allowed 4'),
    (a_controller_with_a_joint_twice, 'named once'),
    (negative_smoothing, 'smoothing of dry friction cannot be used: found -0.1'),
])
def test_parameters_of_another_robot_are_refused(change, reason, arm, program, tmp_path):
    change(arm)
    finished = arm.run(program, tmp_path)
    assert finished.returncode == 1
    assert reason in finished.stderr
