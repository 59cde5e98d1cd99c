"""The check of an MJCF names what is wrong, and what this reader does not do."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.errors import ModelError
from sysid_ros.robot.description.checks.finding import Severity
from sysid_ros.robot.description.checks.preflight import check_description
from sysid_ros.robot.description.urdf import load_description
from sysid_ros.robot.model import RobotModel

BODY = (
    '<body name="a"><joint name="ja" range="-1 1" actuatorfrcrange="-5 5"/>'
    '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>{}</body>'
)


def mjcf(inside='', outside='', body=BODY):
    return f'<mujoco><worldbody>{body.format(inside)}</worldbody>{outside}</mujoco>'


def findings(text):
    return check_description(load_description(text))


def codes(text, severity):
    return [found.code for found in findings(text) if found.severity is severity]


def test_a_sound_model_lacks_only_the_velocity_limit_that_mjcf_has_no_word_for():
    only, = findings(mjcf())
    assert only.code == 'missing-limits' and 'velocity (an MJCF has none)' in str(only)


TWO = '<body name="b"><joint name="jb"/><geom size="1"/></body>'


@pytest.mark.parametrize(('text', 'code', 'words'), [
    (mjcf('<body name="b"><joint name="jb" type="ball"/><geom size="1"/></body>'), 'ball-joint',
     'joint "jb": its type is not supported .found "ball"; allowed hinge, slide, free'),
    (mjcf('<body name="b"><joint name="universe"/><geom size="1"/></body>'), 'reserved-name',
     'that of the world'),
    (mjcf('<body name="b" pos="0 nan 0"/>'), 'unreadable-number', 'found in body_pos'),
    (mjcf('<body name="b"><joint name="jb" stiffness="1 2"/><geom size="1"/></body>'),
     'nonlinear-term', 'its stiffness is a polynomial'),
    (mjcf('<body name="b"><joint name="jb" damping="1 2"/><geom size="1"/></body>'),
     'nonlinear-term', 'joint "jb": its damping is a polynomial'),
    (mjcf(TWO, '<equality><joint joint1="ja" joint2="jb" polycoef="0 1 1"/></equality>'),
     'unsupported-coupling', 'not linear'),
    (mjcf(TWO, '<equality><joint joint1="ja" joint2="jb"/><joint joint1="jb" joint2="ja"/>'
          '</equality>'), 'unsupported-coupling', 'follow others already'),
    (mjcf(TWO, '<equality><joint joint1="ja" joint2="jb"/><joint joint1="ja"/></equality>'),
     'unsupported-coupling', 'equality "joint 2": its joints follow others already .found ja'),
    (mjcf(TWO + TWO.replace('b"', 'c"'), '<tendon><fixed name="t"><joint joint="ja" coef="1"/>'
          '<joint joint="jb" coef="1"/><joint joint="jc" coef="1"/></fixed></tendon>'
          '<equality><tendon tendon1="t"/></equality>'), 'unsupported-coupling',
     'more than two joints .found ja, jb, jc'),
    (mjcf(outside='<tendon><fixed name="t" stiffness="3"><joint joint="ja" coef="1"/></fixed>'
          '</tendon>'), 'tendon-force', 'tendon "t": its stiffness'),
    (mjcf(body=BODY + '<body name="dog"><freejoint/><geom size="1"/><body name="leg">'
          '<joint name="hip"/><geom size="1"/></body></body>'), 'several-roots',
     'free base beside another robot'),
    ('<mujoco><worldbody/></mujoco>', 'no-links', 'no <body>'),
])
def test_what_is_not_supported_is_refused_by_name(text, code, words):
    assert code in codes(text, Severity.FATAL)
    with pytest.raises(ModelError, match=words):
        RobotModel.from_mjcf(text)


@pytest.mark.parametrize(('text', 'words'), [
    (mjcf('<body name="a"/>'), "repeated name 'a' in body"),
    (mjcf('<body name="b" euler="1 2"/>'), "'euler' does not have enough data"),
    (mjcf('<body name="b" quat="1 0 0 0" euler="1 2 3"/>'), 'multiple orientation'),
    (mjcf('<body name="b" childclass="none"/>'), 'unknown default childclass'),
    (mjcf(outside='<equality><weld body1="a" body2="b"/></equality>'), "unknown element 'b'"),
    (mjcf('<body name="b"><geom name="skin" type="mesh" mesh="m"/></body>'), "mesh 'm' not found"),
    (mjcf('<freejoint/>'), 'more than 6 dofs'),
    (mjcf('<replicate count="100000"><geom size="1"/></replicate>'), 'repeats bodies too often'),
])
def test_what_mujoco_refuses_is_refused_in_its_words(text, words):
    with pytest.raises(ModelError, match=words):
        RobotModel.from_mjcf(text)


@pytest.mark.parametrize(('inertial', 'code'), [
    ('mass="-1" diaginertia="1 1 1"', 'mass-not-positive'),
    ('mass="1" diaginertia="1 1 -1"', 'inertia-not-positive'),
    ('mass="1" diaginertia="1 1 3"', 'triangle-inequality'),
    ('mass="1"', 'inertia-not-positive'),
])
def test_a_body_that_nothing_could_have_is_no_prior(inertial, code):
    text = mjcf().replace('mass="1" diaginertia="1 1 1"', inertial)
    assert codes(text, Severity.PRIOR) == [code]
    assert list(RobotModel.from_mjcf(text).replaced_priors) == ['a']


@pytest.mark.parametrize(('text', 'code'), [
    (mjcf(outside='<option density="1.2"/>'), 'fluid'),
    (mjcf('<body name="b" gravcomp="1"/>'), 'gravity-compensation'),
    (mjcf('<body/>'), 'empty-name'),
    (mjcf(body=BODY + '<body name="ball"><freejoint/><geom size="1"/></body>'), 'free-object'),
    (mjcf('', '<equality><weld body1="a" body2="hand"/></equality>',
          BODY + '<body name="hand" mocap="true"/>'), 'held-outside'),
    (mjcf('<body name="b"><joint name="jb" damping="-1"/></body>'), 'negative-friction'),
    (mjcf('<body name="b"><joint name="jb"/></body>'), 'massless-link'),
    (mjcf().replace('range="-1 1"', 'range="1 -1"'), 'limits-swapped'),
    (mjcf().replace('range="-1 1"', 'range="1 1"'), 'zero-limits'),
    (mjcf(outside='<actuator><motor joint="ja" armature="1"/></actuator>'), 'actuator-term'),
])
def test_what_can_be_used_with_care_is_said(text, code):
    assert code in codes(text, Severity.WARNING)
    RobotModel.from_mjcf(text)


def test_meshes_that_carry_no_mass_are_not_looked_at():
    for words in ('mass="0"', 'density="0"'):
        RobotModel.from_mjcf(mjcf(f'<geom type="mesh" mesh="../../etc/passwd" {words}/>'))
    # The body has an <inertial>, so its geoms do not count.
    RobotModel.from_mjcf(mjcf('<geom type="mesh" mesh="m"/>'))


def test_a_body_that_mujoco_alone_would_refuse_is_named_and_keeps_its_numbers():
    text = mjcf('<body name="b" euler="30 0 0"><joint name="jb"/><inertial pos="0 0 1" mass="-2" '
                'euler="0 90 0" diaginertia="1 2 4"/></body>')
    robot = RobotModel.from_mjcf(text)
    index = robot.body_names.index('b')
    # Turned by 90 degrees about y, and moved by 1 m along z.
    np.testing.assert_allclose(
        robot.inertial_prior[index], [-2, 0, 0, -2, 4 - 2, 0, 2 - 2, 0, 0, 1], atol=1e-12)


def test_external_entities_are_refused_before_anything_is_read():
    with pytest.raises(ModelError, match='DOCTYPE'):
        RobotModel.from_mjcf('<!DOCTYPE mujoco [<!ENTITY x "y">]>' + mjcf())
