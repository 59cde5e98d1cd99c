"""Parameters as messages: the numbers of the exported URDF, and the same torques after the way."""

import math
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from geometry_msgs.msg import Inertia

from sysid_ros.errors import ParameterError, ReleaseError
from sysid_ros.mechanics.actuators.actuators import Actuators, JointActuator
from sysid_ros.mechanics.actuators.kinds import kind_named
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    AsymmetricCoulombFriction,
    CoulombFriction,
    Stiffness,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.nodes.conversions import (
    content_message,
    info_message,
    instant,
    model_with_terms_of,
    parameters_from_message,
    parameters_message,
    to_nanoseconds,
    to_time,
)
from sysid_ros.release.description_export import export_description
from sysid_ros.release.revision import Content, Kind, Quality, Revision, Validity
from sysid_ros.robot.inertia import inertial_from_pseudo, pseudo_inertia
from sysid_ros.robot.model import RobotModel

TERMS = (ViscousFriction(), CoulombFriction(), TorqueOffset(), Armature(), Stiffness())
TOLERANCE = 1e-9


def identified(model, rng):
    """Consistent bodies some way from the prior, and joint terms of any size."""
    parameters = model.parameters
    values = rng.uniform(0.1, 1.0, len(parameters))
    for body in parameters.bodies:
        block = parameters.body_slice(body)
        change = np.eye(4) + 0.1 * rng.normal(size=(4, 4))
        values[block] = inertial_from_pseudo(
            change @ pseudo_inertia(parameters.prior[block]) @ change.T)
    return parameters.with_values(values)


def torque_of_message(message, urdf, q, v, a):
    """Torques by Pinocchio alone: inertias of the message's links, placed by Pinocchio."""
    model = pin.buildModelFromXML(urdf)
    for joint in range(1, model.njoints):
        model.inertias[joint] = pin.Inertia.Zero()
    for name, inertia in zip(message.link_names, message.link_inertias, strict=True):
        frame = model.frames[model.getBodyId(name)]
        own = pin.Inertia(
            inertia.m, np.array([inertia.com.x, inertia.com.y, inertia.com.z]),
            np.array([
                [inertia.ixx, inertia.ixy, inertia.ixz], [inertia.ixy, inertia.iyy, inertia.iyz],
                [inertia.ixz, inertia.iyz, inertia.izz],
            ]))
        joint = frame.parentJoint if hasattr(frame, 'parentJoint') else frame.parent
        model.inertias[joint] += frame.placement.act(own)
    data = model.createData()
    order = [model.names[1:].tolist().index(joint.name) for joint in message.joints]
    tau = np.array([
        pin.rnea(model, data, *rows) for rows in zip(q[:, order], v[:, order], a[:, order],
                                                     strict=True)
    ])[:, np.argsort(order)]
    friction = [
        [joint.viscous_friction, joint.coulomb_friction, joint.torque_offset, joint.armature,
         joint.stiffness] for joint in message.joints
    ]
    viscous, dry, offset, armature, stiffness = np.array(friction).T
    return tau + armature * a + viscous * v + dry * np.sign(v) + offset + stiffness * q


def without_limits(urdf):
    """Pinocchio gives continuous joints two coordinates."""
    return urdf.replace('continuous', 'revolute')


@pytest.mark.parametrize('seed', range(6))
def test_torques_are_the_same_after_the_way_through_a_message(random_urdf, seed, rng):
    urdf = random_urdf(seed, 7, bare_frames=True)
    model = TorqueModel(RobotModel.from_urdf(urdf), TERMS)
    parameters = identified(model, rng)
    message = parameters_message(model.robot, parameters)
    back = parameters_from_message(message, model)
    motion = rng.normal(size=(3, 50, len(model.robot.joint_names)))
    expected = model.torque(parameters.values, *motion)
    scale = np.abs(expected).max()
    by_pinocchio = torque_of_message(message, without_limits(urdf), *motion)
    assert np.abs(by_pinocchio - expected).max() < TOLERANCE * max(scale, 1.0)
    assert np.abs(model.torque(back.values, *motion) - expected).max() < TOLERANCE


@pytest.mark.parametrize('seed', range(4))
def test_message_and_exported_urdf_agree(random_urdf, seed, rng):
    model = TorqueModel(RobotModel.from_urdf(random_urdf(seed, 6)), TERMS[:2])
    parameters = identified(model, rng)
    message = parameters_message(model.robot, parameters)
    exported = export_description(model.robot, parameters).xml.decode()
    reloaded = TorqueModel(RobotModel.from_urdf(exported), TERMS[:2])
    prior = parameters_message(reloaded.robot, reloaded.parameters)
    written = dict(zip(prior.link_names, prior.link_inertias, strict=True))
    for name, mine in zip(message.link_names, message.link_inertias, strict=True):
        if name not in written:
            # The export has taken it out: another link has got all of the body.
            assert mine == Inertia()
            continue
        theirs = written[name]
        assert mine.m == pytest.approx(theirs.m, rel=1e-12)
        for entry in ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'):
            assert getattr(mine, entry) == pytest.approx(getattr(theirs, entry), abs=1e-9)
    for mine, theirs in zip(message.joints, prior.joints, strict=True):
        assert mine.viscous_friction == theirs.viscous_friction
        assert mine.coulomb_friction == theirs.coulomb_friction
    # A controller that was given the identified description reads the message the same way.
    back = parameters_from_message(message, reloaded)
    np.testing.assert_allclose(back.values, reloaded.parameters.values, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('seed', range(4))
def test_robots_in_mjcf_go_the_same_way(random_mjcf, seed, rng):
    model = TorqueModel(RobotModel.from_mjcf(random_mjcf(seed, 6)), TERMS)
    parameters = identified(model, rng)
    back = parameters_from_message(parameters_message(model.robot, parameters), model)
    motion = rng.normal(size=(3, 30, len(model.robot.joint_names)))
    expected = model.torque(parameters.values, *motion)
    difference = np.abs(model.torque(back.values, *motion) - expected).max()
    assert difference < TOLERANCE * max(1.0, np.abs(expected).max())


@pytest.fixture
def arm(simulated_arm):
    return simulated_arm(0).model


def test_terms_that_are_not_part_of_the_model_are_nan_and_read_as_zero(arm):
    message = parameters_message(arm.robot, arm.parameters)
    assert all(math.isnan(joint.armature) for joint in message.joints)
    assert not any(math.isnan(joint.coulomb_friction) for joint in message.joints)
    wider = TorqueModel(arm.robot, (*arm.terms, Armature()))
    back = parameters_from_message(message, wider)
    assert back[f'{arm.robot.joint_names[0]}.armature'] == 0.0


def test_a_term_that_the_receiver_would_lose_is_refused(arm):
    name = arm.robot.joint_names[1]
    parameters = arm.parameters.with_values({f'{name}.torque_offset': 0.5})
    message = parameters_message(arm.robot, parameters)
    narrower = TorqueModel(arm.robot, arm.terms[:2])
    with pytest.raises(ParameterError, match='torques would be lost'):
        parameters_from_message(message, narrower)
    message.joints[1].torque_offset = 0.0
    parameters_from_message(message, narrower)


def test_terms_that_a_fit_chose_are_taken_with_the_revision(arm, rng):
    first, second = arm.robot.joint_names[:2]
    described = TorqueModel(arm.robot, (ViscousFriction((second,)), Armature()))
    fitted = TorqueModel(arm.robot, (ViscousFriction(), Armature(), Stiffness((first,))))
    parameters = identified(fitted, rng)
    message = parameters_message(arm.robot, parameters)
    model = model_with_terms_of(message, described)
    assert model.parameters.names == parameters.names
    found = parameters_from_message(message, model)
    np.testing.assert_allclose(found.values, parameters.values, rtol=1e-9, atol=1e-9)


def test_a_model_that_lacks_no_term_stays_itself(arm):
    message = parameters_message(arm.robot, arm.parameters)
    assert model_with_terms_of(message, arm) is arm
    wider = TorqueModel(arm.robot, (*arm.terms, Armature()))
    assert model_with_terms_of(message, wider) is wider


def test_a_parameter_without_a_place_in_the_message_is_refused(arm):
    model = TorqueModel(arm.robot, (AsymmetricCoulombFriction(),))
    parameters = model.parameters.with_values(np.where(
        [name.endswith('_forward') for name in model.parameters.names], 0.3,
        model.parameters.values))
    with pytest.raises(ReleaseError, match='no place for parameters'):
        parameters_message(arm.robot, parameters)


def test_constants_of_actuators_need_no_place_in_the_message(arm):
    robot = arm.robot
    servo = JointActuator(robot.joint_names[0], kind_named('position_servo'), (40.0, 1.0))
    model = TorqueModel(robot, [*arm.terms, Actuators((servo,), 0.006)])
    told = parameters_message(robot, model.parameters)
    np.testing.assert_allclose(
        parameters_from_message(told, model).values, model.parameters.values, atol=1e-12)


def test_an_inconsistent_body_is_refused(arm):
    body = arm.parameters.bodies[0]
    with pytest.raises(ReleaseError, match='no real body'):
        parameters_message(arm.robot, arm.parameters.with_values({f'{body}.inertia_zz': -1.0}))


@pytest.mark.parametrize(('change', 'problem'), [
    (lambda m: setattr(m, 'robot_name', 'other'), 'another robot'),
    (lambda m: m.link_names.__setitem__(0, 'nowhere'), 'no such link'),
    (lambda m: m.link_inertias.pop(), 'not as many'),
    (lambda m: (m.link_names.pop(), m.link_inertias.pop()), 'nothing is known of a link'),
    (lambda m: m.joints.pop(), 'nothing is known of a joint'),
    (lambda m: setattr(m.link_inertias[0], 'm', math.nan), 'not finite'),
    (lambda m: setattr(m.joints[0], 'viscous_friction', math.inf), 'not finite'),
])
def test_a_message_that_cannot_be_used_is_refused(arm, change, problem):
    message = parameters_message(arm.robot, arm.parameters)
    message.link_inertias = list(message.link_inertias)
    change(message)
    with pytest.raises(ParameterError, match=problem):
        parameters_from_message(message, arm)


def test_a_message_about_a_joint_of_another_robot_is_refused(arm):
    message = parameters_message(arm.robot, arm.parameters)
    message.joints[0].name = 'nowhere'
    with pytest.raises(Exception, match='no such moving joint'):
        parameters_from_message(message, arm)


def test_a_revision_says_where_it_comes_from(arm):
    content = Content(
        b'<robot/>', arm.parameters, 'ab' * 32, 'fit_1', 1_700_000_000_123_456_789, 'cd' * 32,
        Quality(held_out_relative_error=0.03))
    message = content_message(arm.robot, content, '2-abc')
    assert (message.revision, message.recording_sha256) == ('2-abc', 'cd' * 32)
    assert message.description_sha256 == 'ab' * 32
    assert message.held_out_relative_error == 0.03
    assert math.isnan(message.condition_number)
    assert to_nanoseconds(message.stamp) == 1_700_000_000_123_456_789


def test_a_revision_says_up_to_where_it_was_fitted_and_judged(arm):
    ranges = {'elbow': {
        'position': [-1.0, 2.0], 'speed': 1.5, 'acceleration': 4.0, 'torque': 30.0}}
    judged = {'elbow': ranges['elbow'] | {'speed': 2.5}}
    faster = {'relative_error': 0.06, 'deviation': 0.01, 'speed_factors': {'elbow': 3.0}}
    content = Content(
        b'<robot/>', arm.parameters, 'ab' * 32, 'fit_1', validity=Validity(ranges, judged, faster))
    revision = Revision(1, '', '', Kind.COMMIT, 1, '', '', content)
    for message in (content_message(arm.robot, content, '1-a'), info_message(revision, '1-a')):
        (one,) = message.fitted_range
        assert (one.name, one.position_min, one.position_max) == ('elbow', -1.0, 2.0)
        assert (one.speed, one.acceleration, one.effort) == (1.5, 4.0, 30.0)
        assert [one.speed for one in message.judged_range] == [2.5]
        expected = message.faster_motion
        assert (expected.relative_error, expected.standard_error) == (0.06, 0.01)
        assert (expected.joint_names, list(expected.speed_factors)) == (['elbow'], [3.0])
    unknown = content_message(arm.robot, replace(content, validity=Validity()), '')
    assert list(unknown.fitted_range) == list(unknown.judged_range) == []
    assert math.isnan(unknown.faster_motion.relative_error)


@pytest.mark.parametrize('nanoseconds', [0, 1, 999_999_999, 1_700_000_000_123_456_789])
def test_times_survive_to_the_nanosecond(nanoseconds):
    assert to_nanoseconds(to_time(nanoseconds)) == nanoseconds


@pytest.mark.parametrize('stamp, expected', [
    (1_000, 1_000), (900, 900), (899, 1_000), (1_001, 1_000), (0, 1_000), (10**18, 1_000),
])
def test_a_stamp_is_believed_when_the_message_can_have_come_from_then(stamp, expected):
    assert instant(stamp, received=1_000, longest=100) == expected
