"""The check finds nothing in valid trees, and each injected fault by its name."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from sysid_ros.robot.description.checks.preflight import Severity, check_description
from sysid_ros.robot.description.urdf import kinematic_description, load_description

FATAL, PRIOR, WARNING = Severity.FATAL, Severity.PRIOR, Severity.WARNING
Mutation = Callable[[etree._Element], None]


def assign(path: str, attribute: str, value: str) -> Mutation:
    def mutate(root: etree._Element) -> None:
        root.find(path).set(attribute, value)
    return mutate


def remove(path: str) -> Mutation:
    def mutate(root: etree._Element) -> None:
        element = root.find(path)
        element.getparent().remove(element)
    return mutate


def forget(path: str, attribute: str) -> Mutation:
    def mutate(root: etree._Element) -> None:
        del root.find(path).attrib[attribute]
    return mutate


def append(path: str, xml: str) -> Mutation:
    def mutate(root: etree._Element) -> None:
        root.find(path).append(etree.fromstring(xml))
    return mutate


def mimic_a_new_joint(attribute: str) -> Mutation:
    def mutate(root: etree._Element) -> None:
        link = deepcopy(root.find(LINK))
        link.set('name', 'spare')
        root.append(link)
        root.append(etree.fromstring(
            '<joint name="followed" type="continuous"><parent link="link1"/>'
            '<child link="spare"/><limit effort="1" velocity="1"/></joint>'
        ))
        root.find(JOINT).append(etree.fromstring(f'<mimic joint="followed" {attribute}/>'))
    return mutate


def inertia(*entries: float) -> Mutation:
    def mutate(root: etree._Element) -> None:
        names = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
        root.find(f'{LINK}/inertial/inertia').attrib.update(
            {name: repr(value) for name, value in zip(names, entries, strict=True)}
        )
    return mutate


JOINT, LINK = "joint[@name='joint1']", "link[@name='link1']"
EDGE = '<joint name="{}" type="fixed"><parent link="{}"/><child link="{}"/></joint>'

MUTATIONS = {
    'a robot without name': (FATAL, 'robot-name', 'robot', forget('.', 'name')),
    'a link without name': (FATAL, 'empty-name', 'link in line', append('.', '<link/>')),
    'a duplicated link': (
        FATAL, 'duplicate-link', 'link "link1"',
        lambda root: root.append(deepcopy(root.find(LINK)))),
    'a duplicated joint': (
        FATAL, 'duplicate-joint', 'joint "joint1"', lambda root: root.extend([
            etree.fromstring('<link name="spare"/>'),
            etree.fromstring(EDGE.format('joint1', 'link1', 'spare')),
        ]),
    ),
    'a joint called universe': (
        FATAL, 'reserved-name', 'joint "universe"', assign(JOINT, 'name', 'universe')),
    'a name with a path': (
        WARNING, 'unsafe-name', 'joint "../../x"', assign(JOINT, 'name', '../../x')),
    'a robot name with a control character': (
        WARNING, 'unsafe-name', 'robot', assign('.', 'name', 'a\tb')),
    'a missing parent': (FATAL, 'missing-parent', 'joint "joint1"', remove(f'{JOINT}/parent')),
    'a missing child': (FATAL, 'missing-child', 'joint "joint1"', remove(f'{JOINT}/child')),
    'an unknown parent': (
        FATAL, 'unknown-parent', 'joint "joint1"', assign(f'{JOINT}/parent', 'link', 'nix')),
    'an unknown child': (
        FATAL, 'unknown-child', 'joint "joint1"', assign(f'{JOINT}/child', 'link', 'nix')),
    'a second root': (FATAL, 'several-roots', 'robot', append('.', '<link name="alone"/>')),
    'a link with two parents': (
        FATAL, 'two-parents', 'link "link1"', append('.', EDGE.format('extra', 'link0', 'link1'))),
    'a loop': (FATAL, 'loop', 'robot', append('.', EDGE.format('extra', 'link1', 'link0'))),
    'a joint on its own link': (
        FATAL, 'loop', 'robot', assign(f'{JOINT}/parent', 'link', 'link1')),
    'a floating joint': (
        FATAL, 'unsupported-type', 'joint "joint1"', assign(JOINT, 'type', 'floating')),
    'a planar joint': (
        FATAL, 'unsupported-type', 'joint "joint1"', assign(JOINT, 'type', 'planar')),
    'a joint type of no sense': (
        FATAL, 'unknown-type', 'joint "joint1"', assign(JOINT, 'type', 'hinge')),
    'a joint without type': (FATAL, 'unknown-type', 'joint "joint1"', forget(JOINT, 'type')),
    'a nan origin': (
        FATAL, 'unreadable-number', 'joint "joint1"', assign(f'{JOINT}/origin', 'xyz', 'nan 0 0')),
    'an inf orientation': (
        FATAL, 'unreadable-number', 'joint "joint1"', assign(f'{JOINT}/origin', 'rpy', '0 inf 0')),
    'an axis of two numbers': (
        FATAL, 'unreadable-number', 'joint "joint1"', assign(f'{JOINT}/axis', 'xyz', '0 1')),
    'a limit in words': (
        FATAL, 'unreadable-number', 'joint "joint1"', assign(f'{JOINT}/limit', 'lower', '-90°')),
    'a nan effort limit': (
        FATAL, 'unreadable-number', 'joint "joint1"', assign(f'{JOINT}/limit', 'effort', 'nan')),
    'a damping with a comma': (
        FATAL, 'unreadable-number', 'joint "joint1"',
        assign(f'{JOINT}/dynamics', 'damping', '0,5')),
    'an origin as quaternion': (
        FATAL, 'quaternion', 'joint "joint1"', assign(f'{JOINT}/origin', 'quat_xyzw', '0 0 0 1')),
    'a zero axis': (FATAL, 'zero-axis', 'joint "joint1"', assign(f'{JOINT}/axis', 'xyz', '0 0 0')),
    'an axis without numbers': (
        FATAL, 'zero-axis', 'joint "joint1"', forget(f'{JOINT}/axis', 'xyz')),
    'an axis of length two': (
        WARNING, 'axis-not-unit', 'joint "joint1"', assign(f'{JOINT}/axis', 'xyz', '0 0 2')),
    'no limits': (WARNING, 'missing-limits', 'joint "joint1"', remove(f'{JOINT}/limit')),
    'no effort limit': (
        WARNING, 'missing-limits', 'joint "joint1"', forget(f'{JOINT}/limit', 'effort')),
    'a zero velocity limit': (
        WARNING, 'zero-limits', 'joint "joint1"', assign(f'{JOINT}/limit', 'velocity', '0')),
    'a negative damping': (
        WARNING, 'negative-friction', 'joint "joint1"',
        assign(f'{JOINT}/dynamics', 'damping', '-1')),
    'two origins': (
        WARNING, 'several-elements', 'joint "joint1"', append(JOINT, '<origin xyz="9 9 9"/>')),
    'two inertials': (WARNING, 'several-elements', 'link "link1"', append(LINK, '<inertial/>')),
    'a mimic of nothing': (
        FATAL, 'mimic-unknown', 'joint "joint1"', append(JOINT, '<mimic joint="nix"/>')),
    'a mimic without joint': (FATAL, 'mimic-unknown', 'joint "joint1"', append(JOINT, '<mimic/>')),
    'a mimic of itself': (
        FATAL, 'mimic-loop', 'joint "joint1"', append(JOINT, '<mimic joint="joint1"/>')),
    'a nan mimic multiplier': (
        FATAL, 'unreadable-number', 'joint "joint1"', mimic_a_new_joint('multiplier="nan"')),
    'a negative mass': (
        PRIOR, 'mass-not-positive', 'link "link1"', assign(f'{LINK}/inertial/mass', 'value', '-1')),
    'a zero mass with inertia': (
        PRIOR, 'mass-not-positive', 'link "link1"', assign(f'{LINK}/inertial/mass', 'value', '0')),
    'a nan mass': (
        PRIOR, 'unreadable-number', 'link "link1"',
        assign(f'{LINK}/inertial/mass', 'value', 'nan')),
    'an inf inertia': (
        PRIOR, 'unreadable-number', 'link "link1"',
        assign(f'{LINK}/inertial/inertia', 'ixx', 'inf')),
    'a nan centre of mass': (
        PRIOR, 'unreadable-number', 'link "link1"',
        assign(f'{LINK}/inertial/origin', 'xyz', 'nan 0 0')),
    'no mass in the inertial': (
        PRIOR, 'incomplete-inertial', 'link "link1"', remove(f'{LINK}/inertial/mass')),
    'an inertia without ixy': (
        PRIOR, 'incomplete-inertial', 'link "link1"', forget(f'{LINK}/inertial/inertia', 'ixy')),
    'a negative inertia': (
        PRIOR, 'inertia-not-positive', 'link "link1"', inertia(-1.0, 0.0, 0.0, 1.0, 0.0, 1.0)),
    'an indefinite inertia': (
        PRIOR, 'inertia-not-positive', 'link "link1"', inertia(1.0, 2.0, 0.0, 1.0, 0.0, 1.0)),
    'a zero inertia': (
        PRIOR, 'inertia-not-positive', 'link "link1"', inertia(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)),
    'a broken triangle': (
        PRIOR, 'triangle-inequality', 'link "link1"', inertia(1.0, 0.0, 0.0, 1.0, 0.0, 2.1)),
    'a broken triangle off the axes': (
        PRIOR, 'triangle-inequality', 'link "link1"', inertia(1.0, 0.9, 0.0, 1.0, 0.0, 1.0)),
    'no inertial': (WARNING, 'massless-link', 'link "link1"', remove(f'{LINK}/inertial')),
    'a mesh outside': (
        WARNING, 'mesh-path', 'link "link1"', append(
            LINK, '<visual><geometry><mesh filename="package://a/../../b"/></geometry></visual>')),
}


@pytest.mark.parametrize('fault', MUTATIONS)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10_000), joints=st.integers(1, 6))
def test_each_injected_fault_is_found_by_its_name_and_nothing_else(
    random_urdf, fault, seed, joints
):
    severity, code, element, mutate = MUTATIONS[fault]
    root = etree.fromstring(random_urdf(seed, joints))
    mutate(root)
    found = check_description(load_description(etree.tostring(root, encoding='unicode')))
    assert [(f.severity, f.code) for f in found] == [(severity, code)]
    assert found[0].element.startswith(element)
    assert str(found[0]).endswith('.')


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000), joints=st.integers(1, 10), bare_frames=st.booleans()
)
def test_a_valid_tree_has_no_findings_and_keeps_its_masses(random_urdf, seed, joints, bare_frames):
    xml = random_urdf(seed, joints, bare_frames=bare_frames)
    description = load_description(xml)
    assert check_description(description) == ()
    model = pin.buildModelFromXML(kinematic_description(description))
    masses = [float(m.get('value')) for m in description.root.iterfind('.//mass')]
    total = sum(inertia.mass for inertia in model.inertias)
    np.testing.assert_allclose(total, sum(masses), rtol=1e-13)


@pytest.mark.parametrize('kind', ['revolute', 'prismatic'])
def test_swapped_limits_are_a_warning(random_urdf, kind):
    root = etree.fromstring(random_urdf(1, 2))
    root.find(JOINT).set('type', kind)
    root.find(f'{JOINT}/limit').set('lower', '3')
    found = check_description(load_description(etree.tostring(root, encoding='unicode')))
    assert [(f.severity, f.code) for f in found] == [(WARNING, 'limits-swapped')]
    assert 'found 3 and 2' in found[0].message


def test_a_continuous_joint_needs_no_position_limits(random_urdf):
    root = etree.fromstring(random_urdf(1, 1))
    root.find(JOINT).set('type', 'continuous')
    for name in ('lower', 'upper'):
        del root.find(f'{JOINT}/limit').attrib[name]
    assert check_description(load_description(etree.tostring(root, encoding='unicode'))) == ()


def test_a_thin_plate_with_rounded_inertia_is_accepted(random_urdf):
    root = etree.fromstring(random_urdf(1, 1))
    inertia(0.0333333333, 0.0, 0.0, 0.0333333333, 0.0, 0.0666666667)(root)
    assert check_description(load_description(etree.tostring(root, encoding='unicode'))) == ()


def test_the_inertia_of_a_link_that_does_not_move_is_only_a_warning(random_urdf):
    root = etree.fromstring(random_urdf(1, 1))
    append("link[@name='link0']", (
        '<inertial><mass value="-1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
        '</inertial>'
    ))(root)
    found = check_description(load_description(etree.tostring(root, encoding='unicode')))
    assert [(f.severity, f.code) for f in found] == [(WARNING, 'mass-not-positive')]
    assert 'does not move' in found[0].message


def test_a_chain_of_mimics_that_closes_names_every_joint_in_it(random_urdf):
    root = etree.fromstring(random_urdf(3, 3, fixed_fraction=0.0))
    for follower, followed in (('joint1', 'joint2'), ('joint2', 'joint3'), ('joint3', 'joint1')):
        append(f"joint[@name='{follower}']", f'<mimic joint="{followed}"/>')(root)
    found = check_description(load_description(etree.tostring(root, encoding='unicode')))
    assert [f.code for f in found] == ['mimic-loop'] * 3


def test_a_loop_is_named_by_the_links_on_it_and_no_others():
    chain = '<robot name="r">' + ''.join(f'<link name="l{k}"/>' for k in range(7)) + ''.join(
        EDGE.format(f'j{k}', f'l{k}', f'l{k + 1}') for k in range(6))
    looped = chain + EDGE.format('back', 'l3', 'l2') + '</robot>'
    loops = [f for f in check_description(load_description(looped)) if f.code == 'loop']
    assert [f.message for f in loops] == [
        'the joints form a loop (found through "l2", "l3"; allowed a tree)']


def test_a_mimic_on_a_fixed_joint_is_warned_of(random_urdf):
    root = etree.fromstring(random_urdf(3, 2, fixed_fraction=1.0))
    append(JOINT, '<mimic joint="joint2"/>')(root)
    found = check_description(load_description(etree.tostring(root, encoding='unicode')))
    assert [(f.severity, f.code) for f in found] == [(WARNING, 'mimic-fixed')]


def test_the_second_origin_of_a_joint_is_ignored_by_the_loader_as_we_say(random_urdf):
    # The message promises that the first is used; this is Pinocchio's own reading.
    root = etree.fromstring(random_urdf(5, 1).replace('"continuous"', '"revolute"'))
    root.find(f'{JOINT}/origin').set('xyz', '1 2 3')
    append(JOINT, '<origin xyz="9 9 9"/>')(root)
    model = pin.buildModelFromXML(etree.tostring(root, encoding='unicode'))
    np.testing.assert_array_equal(model.jointPlacements[1].translation, [1.0, 2.0, 3.0])


def test_what_the_real_descriptions_hold_is_found(shared_data):
    kuka = check_description(load_description(shared_data / 'kuka_lwr4/kuka_lwr4.urdf'))
    assert [(f.code, f.element) for f in kuka] == [
        ('several-elements', 'joint "box_lwr_base_joint"')]
    tx40 = check_description(load_description(shared_data / 'staubli_tx40/tx40_mdh_modified.urdf'))
    assert [(f.severity, f.code, f.element) for f in tx40] == [
        (PRIOR, 'inertia-not-positive', 'link "link_6"')]
