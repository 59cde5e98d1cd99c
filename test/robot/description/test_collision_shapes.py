"""Kinds, sizes and poses of collision shapes, against Pinocchio, MuJoCo and by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
import pytest

from sysid_ros.excitation.geometry.shapes import placed_shapes
from sysid_ros.robot.description.collision_shapes import collision_shapes, drawn_shapes, mesh_file
from sysid_ros.robot.model import RobotModel

URDF = """<robot name="r"><link name="base"><collision><geometry><box size="0.2 0.4 0.6"/>
</geometry></collision></link>
<link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
iyz="0"/></inertial>
<collision><origin xyz="1 2 3" rpy="0 1.5707963267948966 0"/><geometry>
<cylinder radius="0.1" length="0.8"/></geometry></collision>
<collision><geometry><sphere radius="0.3"/></geometry></collision>
<collision><geometry><mesh filename="{mesh}" scale="0.001 0.001 0.002"/></geometry></collision>
<collision/></link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""


def test_shapes_of_a_urdf_are_read_with_half_sizes_and_poses(tmp_path) -> None:
    (tmp_path / 'arm.stl').write_bytes(b'solid')
    path = tmp_path / 'robot.urdf'
    path.write_text(URDF.format(mesh='arm.stl'))
    box, cylinder, sphere, mesh = collision_shapes(RobotModel.from_urdf(path).description)
    assert (box.link, box.kind, box.size) == ('base', 'box', (0.1, 0.2, 0.3))
    assert (cylinder.kind, cylinder.size) == ('cylinder', (0.1, 0.4))
    np.testing.assert_allclose(cylinder.pose @ [0, 0, 1, 1], [2, 2, 3, 1], atol=1e-12)
    assert (sphere.kind, sphere.size) == ('sphere', (0.3,))
    assert (mesh.kind, mesh.size, mesh.file) == ('mesh', (0.001, 0.001, 0.002),
                                                 tmp_path / 'arm.stl')


def test_meshes_are_found_where_ros_installs_them(tmp_path, monkeypatch) -> None:
    file = tmp_path / 'share' / 'arm_description' / 'meshes' / 'arm.stl'
    file.parent.mkdir(parents=True)
    file.write_bytes(b'solid')
    name = 'package://arm_description/meshes/arm.stl'
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    monkeypatch.delenv('ROS_PACKAGE_PATH', raising=False)
    assert mesh_file(name, tmp_path) is None
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'/nowhere:{tmp_path}')
    assert mesh_file(name, tmp_path) == file
    monkeypatch.delenv('AMENT_PREFIX_PATH')
    monkeypatch.setenv('ROS_PACKAGE_PATH', str(tmp_path / 'share'))
    assert mesh_file(name, tmp_path) == file
    # Pinocchio takes it, too.
    assert mesh_file(name.replace('//', '///'), tmp_path) == file
    assert mesh_file(f'file://{file}', tmp_path / 'other') == file
    assert mesh_file('missing.stl', tmp_path) is None


@pytest.mark.parametrize('seed', range(6))
def test_geoms_of_an_mjcf_are_where_mujoco_has_them(random_mjcf, seed) -> None:
    text = random_mjcf(seed, 6)
    model = mujoco.MjModel.from_xml_string(text)
    kinds = {'sphere': 2, 'capsule': 3, 'ellipsoid': 4, 'cylinder': 5, 'box': 6}
    shapes = collision_shapes(RobotModel.from_mjcf(text).description)
    assert len(shapes) == model.ngeom
    for k, shape in enumerate(shapes):
        assert model.body(model.geom_bodyid[k]).name == shape.link
        assert model.geom_type[k] == kinds[shape.kind]
        np.testing.assert_allclose(model.geom_size[k][:len(shape.size)], shape.size, atol=1e-9)
        np.testing.assert_allclose(shape.pose[:3, 3], model.geom_pos[k], atol=1e-6)
        matrix = np.zeros(9)
        mujoco.mju_quat2Mat(matrix, model.geom_quat[k])
        assert abs(matrix.reshape(3, 3)[:, 2] @ shape.pose[:3, 2]) == pytest.approx(1.0)


def test_what_stands_on_the_world_counts_but_for_planes() -> None:
    text = ('<mujoco><worldbody><geom type="plane" size="1 1 1"/>'
            '<geom type="box" size="0.3 0.2 0.1" pos="1 0 0"/><body name="arm"><joint name="j"/>'
            '<geom size="0.1"/></body></worldbody></mujoco>')
    robot = RobotModel.from_mjcf(text)
    table, ball = collision_shapes(robot.description)
    assert (table.link, table.kind, table.size) == ('world', 'box', (0.3, 0.2, 0.1))
    assert ball.link == 'arm'
    assert [body for body, _, _ in placed_shapes(robot)] == [-1, 0]


def test_geoms_that_nothing_touches_are_no_collision_shapes() -> None:
    text = ('<mujoco><worldbody><body name="arm"><joint name="j"/><geom size="0.1"/>'
            '<geom size="0.2" contype="0" conaffinity="0"/></body></worldbody></mujoco>')
    shape, = collision_shapes(RobotModel.from_mjcf(text).description)
    assert shape.size == (0.1,)


def test_links_without_collision_shapes_are_where_they_are_drawn() -> None:
    visual = '<visual><geometry><sphere radius="0.7"/></geometry></visual>'
    text = URDF.format(mesh='arm.stl').replace('<link name="arm">', f'<link name="arm">{visual}')
    tool = f'<link name="tool">{visual}</link><joint name="f" type="fixed">'
    text = text.replace(
        '</robot>', f'{tool}<parent link="arm"/><child link="tool"/></joint></robot>')
    description = RobotModel.from_urdf(text).description
    shapes = drawn_shapes(description)
    assert [shape.link for shape in shapes] == [
        'base', 'arm', 'arm', 'arm', 'tool']
    assert [shape.size for shape in shapes if shape.link == 'tool'] == [(0.7,)]


def test_geoms_that_never_collide_say_where_a_body_without_others_is() -> None:
    text = ('<mujoco><worldbody><body name="arm"><joint name="j"/>'
            '<geom size="0.1" contype="0" conaffinity="0"/><geom size="0.2"/>'
            '<body name="hand"><joint name="k"/><geom size="0.3" contype="0" conaffinity="0"/>'
            '</body></body></worldbody></mujoco>')
    description = RobotModel.from_mjcf(text).description
    assert [(shape.link, shape.size) for shape in drawn_shapes(description)] == [
        ('arm', (0.2,)), ('hand', (0.3,))]


@pytest.mark.parametrize('file', [
    'a1_description/urdf/a1.urdf', 'laikago_description/urdf/laikago.urdf',
    'panda_description/urdf/panda_collision.urdf', 'talos_data/robots/talos_full_v2.urdf',
])
def test_shapes_of_public_robots_are_those_of_pinocchios_geometry_model(file, monkeypatch) -> None:
    prefix = Path(pin.__file__).parents[4]
    path = prefix / 'share/example-robot-data/robots' / file
    if not path.is_file():
        pytest.skip("example-robot-data is not installed: pip install '.[test]'")
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(prefix))
    model = pin.buildModelFromUrdf(str(path))
    expected = {
        shape.name: shape for shape in pin.buildGeomFromUrdf(
            model, str(path), pin.GeometryType.COLLISION,
            package_dirs=str(prefix / 'share')).geometryObjects}
    shapes, numbers = collision_shapes(RobotModel.from_urdf(path).description), Counter()
    assert len(shapes) == len(expected) > 10
    for shape in shapes:
        # Pinocchio numbers the shapes of a link.
        other = expected[f'{shape.link}_{numbers[shape.link]}']
        numbers[shape.link] += 1
        link = model.frames[other.parentFrame].placement
        np.testing.assert_allclose(
            shape.pose, link.actInv(other.placement).homogeneous, rtol=0, atol=1e-12)
        if shape.kind == 'mesh':
            assert shape.file is not None
            assert shape.file.resolve() == Path(other.meshPath).resolve()
            np.testing.assert_allclose(shape.size, other.meshScale.ravel())
        else:
            np.testing.assert_allclose(shape.size, _size(other.geometry), rtol=1e-12)


def _size(geometry: Any) -> list[float]:
    """Size of one of Pinocchio's shapes, as this package gives it."""
    if hasattr(geometry, 'halfSide'):
        return list(np.ravel(geometry.halfSide))
    return [geometry.radius, *([geometry.halfLength] if hasattr(geometry, 'halfLength') else [])]
