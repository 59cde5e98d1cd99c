"""Ellipsoids that bodies are kept within: around their shapes, or by the size of the prior."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from sysid_ros.estimation.regression.consistent.body_extents import body_extents, bound_of
from sysid_ros.robot.floating_base import with_floating_base
from sysid_ros.robot.inertia import inertial_parameters
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.rotors import GearedRotor

BOX = '<collision><origin xyz="0.2 0 0"/><geometry><box size="0.4 0.1 0.1"/></geometry></collision>'
MESH = '<visual><geometry><mesh filename="{}" scale="0.001 0.001 0.001"/></geometry></visual>'


def urdf(shapes: str = BOX, tool: str = '', kind: str = 'revolute') -> str:
    return f"""<robot name="r"><link name="base"/><link name="arm"><inertial>
<origin xyz="0.2 0 0"/><mass value="3"/><inertia ixx="0.005" iyy="0.0425" izz="0.0425" ixy="0"
ixz="0" iyz="0"/></inertial>{shapes}</link><link name="tool">{tool}</link><link name="hand">
<inertial><mass value="1"/><inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
<joint name="j" type="{kind}"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
<joint name="f" type="fixed"><parent link="arm"/><child link="tool"/><origin xyz="0.5 0 0"/></joint>
<joint name="k" type="prismatic"><parent link="arm"/><child link="hand"/><origin xyz="0.6 0 0.1"/>
<axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""


def semi_axes(ellipsoid) -> np.ndarray:
    return np.sqrt(np.linalg.eigvalsh(ellipsoid.shape))


def stl(path, corners: np.ndarray) -> None:
    """The box with these two corners in [mm], as a binary STL of its twelve triangles."""
    points = np.array(np.meshgrid(*corners.T)).reshape(3, -1).T
    faces = [(0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5)]
    triangles = [f for a, b, c, d in faces for f in ((a, b, c), (a, c, d))]
    body = b''.join(
        struct.pack('<12fH', 0, 0, 0, *points[list(t)].ravel(), 0) for t in triangles)
    path.write_bytes(bytes(80) + struct.pack('<I', len(triangles)) + body)


@pytest.mark.parametrize('kind', ['revolute', 'prismatic'])
def test_a_body_is_within_the_ellipsoid_around_its_box(kind) -> None:
    extent = body_extents(RobotModel.from_urdf(urdf(kind=kind)))['arm']
    np.testing.assert_allclose(extent.ellipsoid.centre, [0.2, 0.0, 0.0], atol=2e-3)
    # The least ellipsoid around a box has its half edges times the root of three.
    np.testing.assert_allclose(
        semi_axes(extent.ellipsoid), np.sqrt(3.0) * np.array([0.05, 0.05, 0.2]), rtol=0.02)


def test_links_fixed_to_each_other_are_one_body() -> None:
    ball = '<visual><geometry><sphere radius="0.1"/></geometry></visual>'
    extent = body_extents(RobotModel.from_urdf(urdf(tool=ball)))['arm']
    ellipsoid = extent.ellipsoid
    for corner in ([0.0, 0.05, 0.05], [0.6, 0.0, 0.0], [0.5, 0.0, 0.1]):
        away = np.array(corner) - ellipsoid.centre
        assert away @ np.linalg.solve(ellipsoid.shape, away) <= 1.0 + 1e-9


def test_meshes_are_read_in_their_own_unit(tmp_path) -> None:
    stl(tmp_path / 'arm.stl', np.array([[0.0, -50.0, -50.0], [400.0, 50.0, 50.0]]))
    path = tmp_path / 'robot.urdf'
    path.write_text(urdf(MESH.format('arm.stl')))
    ellipsoid = body_extents(RobotModel.from_urdf(path))['arm'].ellipsoid
    np.testing.assert_allclose(
        semi_axes(ellipsoid), np.sqrt(3.0) * np.array([0.05, 0.05, 0.2]), rtol=0.02)


@pytest.mark.parametrize('name', [
    'missing.stl', 'broken.stl', 'sub/../arm.stl', 'flat.stl', 'endless.stl'])
def test_a_mesh_that_cannot_be_read_or_whose_path_climbs_leaves_no_ellipsoid(
    tmp_path, name
) -> None:
    (tmp_path / 'sub').mkdir()
    stl(tmp_path / 'arm.stl', np.array([[0.0, 0.0, 0.0], [400.0, 50.0, 50.0]]))
    stl(tmp_path / 'flat.stl', np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    stl(tmp_path / 'endless.stl', np.array([[0.0, 0.0, 0.0], [np.nan, 50.0, np.inf]]))
    (tmp_path / 'broken.stl').write_bytes(b'nothing of the kind')
    path = tmp_path / 'robot.urdf'
    path.write_text(urdf(BOX + MESH.format(name).replace('visual', 'collision')))
    extent = body_extents(RobotModel.from_urdf(path))['arm']
    assert extent.ellipsoid is None
    # What is known of the body still says how far it reaches at least: box, tool and hand.
    assert extent.points[:, 0].max() == pytest.approx(0.6)
    assert [0.4, 0.05, 0.05] in extent.points.round(9).tolist()


def test_a_body_without_shapes_is_within_so_many_radii_of_gyration() -> None:
    robot = RobotModel.from_urdf(urdf())
    extent = body_extents(robot)['hand']
    assert extent.ellipsoid is None
    phi = robot.reference_inertials[1]
    bound = bound_of('hand', phi, extent, 1.2, 4.0)
    # A ball of 1 kg whose three moments are 0.001 kg m^2.
    np.testing.assert_allclose(semi_axes(bound.ellipsoid), 4.0 * np.sqrt(0.0015))
    np.testing.assert_array_equal(bound.ellipsoid.centre, phi[1:4])
    assert bound.label == "hand within 0.155 m of its prior's centre of mass"
    assert not bound.outside


def test_a_body_without_shapes_reaches_at_least_to_its_joints() -> None:
    robot = RobotModel.from_urdf(urdf(''))
    bound = bound_of(
        'arm', robot.reference_inertials[0], body_extents(robot)['arm'], 1.2, 1.01)
    # From its centre of mass to the origin of the hand.
    np.testing.assert_allclose(semi_axes(bound.ellipsoid), np.hypot(0.4, 0.1))


def test_a_prior_outside_of_its_shapes_is_believed_before_them() -> None:
    robot = RobotModel.from_urdf(urdf(BOX.replace('0.4 0.1 0.1', '0.04 0.01 0.01')))
    extent, phi = body_extents(robot)['arm'], robot.reference_inertials[0]
    assert extent.ellipsoid.spread(phi) > 1.0
    bound = bound_of('arm', phi, extent, 1.2, 3.0)
    assert bound.outside
    assert bound.ellipsoid.spread(phi) < 0.5
    far = inertial_parameters(3.0, np.array([0.2, 0.0, 0.0]), np.diag([0.005, 0.01, 0.01]))
    assert bound.ellipsoid.spread(far) < 0.5


def test_a_prior_inside_is_bounded_by_its_shapes_with_a_margin() -> None:
    robot = RobotModel.from_urdf(urdf())
    extent = body_extents(robot)['arm']
    bound = bound_of('arm', robot.reference_inertials[0], extent, 1.5, 3.0)
    assert (bound.label, bound.outside) == ('arm inside of its shapes', False)
    np.testing.assert_allclose(semi_axes(bound.ellipsoid), 1.5 * semi_axes(extent.ellipsoid))


def test_a_floating_base_has_its_shapes_too() -> None:
    text = ('<mujoco><worldbody><body name="trunk"><freejoint/>'
            '<geom type="box" size="0.3 0.2 0.1"/>'
            '<body name="leg" pos="0.1 0 0"><joint name="hip" axis="0 1 0"/>'
            '<geom type="capsule" size="0.03" fromto="0 0 0 0 0 -0.4"/></body></body>'
            '</worldbody></mujoco>')
    extents = body_extents(with_floating_base(RobotModel.from_mjcf(text)))
    assert set(extents) == {'trunk', 'leg'}
    np.testing.assert_allclose(
        semi_axes(extents['trunk'].ellipsoid), np.sqrt(3.0) * np.array([0.1, 0.2, 0.3]), rtol=0.02)
    np.testing.assert_allclose(extents['leg'].ellipsoid.centre, [0.0, 0.0, -0.2], atol=5e-3)


def test_a_geared_rotor_is_bounded_by_its_prior_alone() -> None:
    rotor = GearedRotor(name='rotor', joint='j', link='base', ratio=50.0, axis=(0.0, 1.0, 0.0),
                        inertial=(0.2, 0.0, 0.0, 0.0, 1e-4, 0.0, 1e-4, 0.0, 0.0, 1e-4))
    robot = RobotModel.from_urdf(urdf()).with_rotors((rotor,))
    extents = body_extents(robot)
    assert 'rotor' not in extents
    bound = bound_of('rotor', robot.reference_inertials[-1], None, 1.2, 3.0)
    np.testing.assert_allclose(
        semi_axes(bound.ellipsoid), 3.0 * np.sqrt(1.5e-4 / 0.2), rtol=1e-6)
