"""What is said to people about mechanisms, starts and steps that cannot be."""

from __future__ import annotations

import numpy as np
import pytest

from support import stepper_scenes as scenes
from sysid_ros.errors import EstimationError, ModelError
from sysid_ros.estimation.trajectory.discrete.mechanism import Body, Joint, Mechanism
from sysid_ros.estimation.trajectory.discrete.stepper import simulate

MIRRORED = np.diag([1.0, 1.0, -1.0, 1.0])


@pytest.mark.parametrize(('change', 'told'), [
    ({'compliance': 0.0}, r'hinge.compliance: .*no compliance \(found 0.0; allowed above zero'),
    ({'angular_compliance': -1e-8}, r'hinge.angular_compliance: .*found -1e-08'),
    ({'compliance': np.nan}, 'found nan'),
    ({'compliance': np.inf}, 'found inf'),
    ({'damping': -0.01}, r'hinge.damping: .*negative.*found -0.01'),
    ({'kind': 'hing'}, "found 'hing'.*Did you mean.*hinge"),
    ({'drive': {'viscous_frictoin': 0.1}}, 'no such parameter.*viscous_friction'),
    ({'drive': {'viscous_friction': -0.1}}, r'hinge.viscous_friction: .*found -0.1; .*zero or'),
    ({'drive': {'torque_offset': np.nan}}, r'hinge.torque_offset: .*found nan; allowed finite'),
    ({'kind': 'weld', 'drive': {'armature': 0.1}}, 'a weld has no such parameter.*allowed none'),
    ({'kind': 'contact', 'drive': {'armature': 0.1}}, 'allowed bearing_friction'),
    ({'kind': 'distance'}, r'hinge.length: .*no length \(found 0.0.*Use a spherical'),
    ({'child_pose': np.eye(3)}, r'hinge.child_pose: .*found \(3, 3\)'),
    ({'parent_pose': MIRRORED}, r'hinge.parent_pose: .*right-handed')])
def test_a_joint_that_cannot_be_is_refused(change, told):
    with pytest.raises(ModelError, match=told):
        Joint('hinge', **({'kind': 'hinge', 'child': 'rod'} | change))


@pytest.mark.parametrize(('bodies', 'joints', 'told'), [
    (['a', 'a'], [], 'not unique.*found a'),
    (['world'], [], 'not unique.*found world'),
    (['rod'], [('one', 'rood', 'world')], "one: there is no such body.*found 'rood'.*rod"),
    (['rod'], [('one', 'rod', 'base')], "one: there is no such body.*found 'base'"),
    (['rod'], [('one', 'world', 'rod')], 'one: the child of a joint does not move'),
    (['rod'], [('one', 'rod', 'world')] * 2, 'names of joints are not unique')])
def test_names_that_do_not_fit_are_refused(bodies, joints, told):
    with pytest.raises(ModelError, match=told):
        Mechanism(
            [scenes.body(name, 1.0, (1.0, 1.0, 1.0)) for name in bodies],
            [Joint(name, 'hinge', child, parent) for name, child, parent in joints])


@pytest.mark.parametrize('inertial', [np.ones(9), np.full(10, np.nan)])
def test_inertial_parameters_that_are_none_are_refused(inertial):
    with pytest.raises(ModelError, match='rod: .*not ten finite'):
        Body('rod', inertial)


def test_values_that_are_not_those_of_the_parameters_are_refused():
    mechanism = scenes.pendulum(drive={'coulomb_friction': 0.1, 'stribeck_velocity': 0.1})
    values = mechanism.parameters.values
    with pytest.raises(ModelError, match=r'found shape \(3,\); allowed \(15,\)'):
        mechanism.body_parameters(values[:3])
    still = values.copy()
    still[mechanism.parameters.names.index('hinge.stribeck_velocity')] = 0.0
    with pytest.raises(ModelError, match="Stribeck's velocity is not above zero"):
        mechanism.body_parameters(still)
    with pytest.raises(ModelError, match="no such joint.*found 'hing'.*hinge"):
        mechanism.joint('hing')


def run(h=1e-3, **changes):
    """Simulate the pendulum with something wrong."""
    mechanism = scenes.pendulum()
    given = {'start': scenes.pendulum_state(0.5, 0.0), 'torques': np.zeros((5, 1))} | changes
    parameters = mechanism.body_parameters(mechanism.parameters.values)
    return simulate(mechanism.arrays, parameters, given['start'], given['torques'], h)


@pytest.mark.parametrize(('changes', 'told'), [
    ({'start': np.zeros(12)}, r'shape of the start.*found shape \(12,\); allowed \(13,\)'),
    ({'start': np.zeros(13)}, 'quaternion.*not of unit length.*found 0.0.*Normalise'),
    ({'start': np.full(13, np.nan)}, 'the start with a value that is not finite'),
    ({'torques': np.zeros((5, 2))}, r'shape of the torques.*allowed \(5, 1\)'),
    ({'torques': np.zeros(5)}, 'the torques'),
    ({'torques': np.full((5, 1), np.inf)}, 'the torques.*not finite'),
    ({'h': 0.0}, 'found 0.0; allowed above zero'),
    ({'h': np.nan}, 'found nan')])
def test_starts_torques_and_steps_that_cannot_be_are_refused(changes, told):
    with pytest.raises(EstimationError, match=told):
        run(**changes)


def test_a_body_without_mass_is_named():
    joint = Joint('hinge', 'hinge', 'rod')
    mechanism = Mechanism([Body('rod', np.zeros(10))], [joint])
    with pytest.raises(EstimationError, match='body 0: .*not positive definite.*found mass 0 kg'):
        scenes.stepped(mechanism, scenes.moving(), 1, 1e-3)
    # A body that is told to be light by an armature alone still has no mass.
    flat = Body('rod', np.array([1.0] + [0.0] * 9))
    with pytest.raises(EstimationError, match='moments of inertia'):
        scenes.stepped(Mechanism([flat], [joint]), scenes.moving(), 1, 1e-3)


def test_a_body_that_turns_too_far_within_a_step_is_told_from_one_without_mass():
    mechanism = Mechanism([scenes.body('rod', 1.0, (0.02, 0.05, 0.06))], [], np.zeros(3))
    with pytest.raises(EstimationError, match=r'turns too far within a step.*rad.*Shorten'):
        scenes.stepped(mechanism, scenes.moving(spin=(100.0, 300.0, 200.0)), 100, 0.1)


def test_constraints_that_contradict_each_other_in_one_step_are_told():
    # Two hinges of one place that give by nothing that a number can hold beside the rest.
    hinges = [
        Joint(name, 'hinge', 'rod', compliance=1e-300, angular_compliance=1e-300)
        for name in ('one', 'two')]
    mechanism = Mechanism([scenes.body('rod', 1.0, (1.0, 1.0, 1.0))], hinges)
    with pytest.raises(EstimationError, match='Raise compliances|raise compliances'):
        scenes.stepped(mechanism, scenes.moving(), 1, 1e-3)
