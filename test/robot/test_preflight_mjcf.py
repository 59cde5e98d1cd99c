"""The check of an MJCF names what is wrong, and what this reader does not do."""

from __future__ import annotations

import pytest

from sysid_ros.errors import ModelError
from sysid_ros.robot.finding import Severity
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.preflight import check_description
from sysid_ros.robot.urdf import load_description

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


@pytest.mark.parametrize(('text', 'code', 'words'), [
    (mjcf('<include file="x.xml"/>'), 'include-element', 'pulls in another file'),
    (mjcf('<attach model="x"/>'), 'attach-element', 'attaches another model'),
    (mjcf('<replicate count="3"><geom size="1"/></replicate>'), 'replicate-element', 'repeats'),
    (mjcf('<composite type="cable"/>'), 'composite-element', 'not rigid'),
    (mjcf('<flexcomp name="f"/>'), 'flexcomp-element', 'not rigid'),
    (mjcf('<plugin plugin="x"/>'), 'plugin-element', 'plugins'),
    (mjcf('<body name="b"><joint name="jb" type="ball"/></body>'), 'unsupported-value',
     'joint "jb": its type is not supported .found "ball"; allowed hinge, slide, free'),
    (mjcf('<body name="b"><frame><joint name="jb"/></frame></body>'), 'in-frame', 'move it'),
    (mjcf('<body name="b"><joint/></body>'), 'empty-name', 'it has no name'),
    (mjcf('<body name="a"/>'), 'duplicate-body', '2 of them'),
    (mjcf('<body name="b"><joint name="ja"/></body>'), 'duplicate-joint', '2 of them'),
    (mjcf('<body name="world"/>'), 'reserved-name', 'that of the world'),
    (mjcf('<body name="b" pos="0 nan 0"/>'), 'unreadable-number',
     'body "b": its pos cannot be read .found "0 nan 0"; allowed 3 finite numbers'),
    (mjcf('<body name="b" euler="1 2"/>'), 'unreadable-number', 'its euler'),
    (mjcf('<body name="b" quat="0 0 0 0"/>'), 'zero-axis', 'its quat is zero'),
    (mjcf('<body name="b"><joint name="jb" axis="0 0 0"/></body>'), 'zero-axis', 'axis is zero'),
    (mjcf('<body name="b" quat="1 0 0 0" euler="1 2 3"/>'), 'several-orientations', 'quat, euler'),
    (mjcf('<body name="b"><joint name="jb" stiffness="1 2"/></body>'), 'nonlinear-term',
     'polynomial'),
    (mjcf('<body name="b"><joint name="jb" springdamper="1 1"/></body>'), 'spring-damper',
     'write stiffness'),
    (mjcf('<body name="b" childclass="none"/>'), 'unknown-class', 'does not exist .found "none"'),
    (mjcf('<body name="b"><inertial pos="0 0 0" mass="1" fullinertia="1 1 1 0 0 0" '
          'diaginertia="1 1 1"/></body>'), 'two-inertias', 'no diaginertia'),
    (mjcf('<body name="b"><geom name="skin" type="mesh" mesh="m"/></body>'), 'mesh-inertia',
     'body "b": its mass comes from .*"skin".*write an <inertial>'),
    (mjcf('<body name="b"><geom size="1" shellinertia="true"/></body>'), 'mesh-inertia', 'solid'),
    (mjcf(outside='<compiler coordinate="global"/>'), 'unsupported-value', 'coordinate'),
    (mjcf(outside='<compiler eulerseq="xyw"/>'), 'unsupported-value', 'eulerseq'),
    (mjcf(outside='<compiler settotalmass="3"/>'), 'total-mass', 'scales all masses'),
    (mjcf('<body name="b"/>', '<compiler boundmass="1"/>'), 'bound-mass', 'no mass'),
    (mjcf(outside='<equality><tendon tendon1="x"/></equality>'), 'unsupported-equality',
     'tendons'),
    (mjcf(outside='<equality><weld site1="x" site2="y"/></equality>'), 'closure-at-sites',
     'write body1, body2 and relpose'),
    (mjcf(outside='<equality><connect body1="a"/></equality>'), 'closure-incomplete', 'where'),
    (mjcf(outside='<equality><weld body1="a" body2="b"/></equality>'), 'closure-unknown', '"b"'),
    (mjcf(outside='<equality><connect body1="a" anchor="0 0"/></equality>'), 'unreadable-number',
     'anchor'),
    (mjcf(outside='<equality><joint joint1="ja" joint2="x"/></equality>'), 'mimic-unknown', '"x"'),
    (mjcf('<body name="b"><joint name="jb"/></body>',
          '<equality><joint joint1="ja" joint2="jb" polycoef="0 1 1"/></equality>'),
     'mimic-nonlinear', 'not linear'),
    (mjcf('<body name="b"><joint name="jb"/></body>', '<equality><joint joint1="ja" joint2="jb"/>'
          '<joint joint1="jb" joint2="ja"/></equality>'), 'mimic-loop', 'never ends'),
    (mjcf('<body name="b"><joint name="jb"/></body>', '<equality><joint joint1="ja" joint2="jb"/>'
          '<joint joint1="ja"/></equality>'), 'mimic-twice', 'follows two'),
    (mjcf(outside='<default><equality active="false"/></default>'), 'default-equality', 'active'),
    (mjcf(outside='<tendon><fixed name="t" stiffness="3"><joint joint="ja" coef="1"/></fixed>'
          '</tendon>'), 'tendon-force', 'tendon "t": its stiffness'),
    (mjcf('<freejoint/>'), 'several-bases', 'without other joints'),
    (mjcf(body=BODY + '<body name="ball"><freejoint/><geom size="1"/></body>'), 'several-roots',
     'floats beside another tree'),
    ('<mujoco><worldbody/></mujoco>', 'no-links', 'no <body>'),
])
def test_what_is_not_supported_is_refused_by_name(text, code, words):
    assert code in codes(text, Severity.FATAL)
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


def test_external_entities_are_refused_before_anything_is_read():
    with pytest.raises(ModelError, match='DOCTYPE'):
        RobotModel.from_mjcf('<!DOCTYPE mujoco [<!ENTITY x "y">]>' + mjcf())
