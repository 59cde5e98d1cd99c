"""Hulls of meshes as STL files that a reader takes."""

import coal
import numpy as np
import pytest

from sysid_ros.excitation.geometry.meshes import hull_triangles
from sysid_ros.studio.stl import binary_stl

# A cube, of which one corner comes twice and one point lies inside.
CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)


def cube_file(path):
    lines = [f'v {x} {y} {z}' for x, y, z in [*CORNERS, [0.5, 0.5, 0.5]]]
    faces = ['f 1 2 3', 'f 2 3 4', 'f 5 6 7', 'f 6 7 8', 'f 1 5 9', 'f 4 8 9']
    path.write_text('\n'.join([*lines, *faces]) + '\n')
    return path


def test_the_hull_of_a_cube_is_closed_and_seen_from_outside(tmp_path):
    triangles = hull_triangles(cube_file(tmp_path / 'cube.obj'), (1.0, 2.0, 1.0))
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    away = triangles.mean(axis=1) - [0.5, 1.0, 0.5]
    assert (np.einsum('ki,ki->k', normals, away) > 0.0).all()
    # Gauss: the flux of x through a closed surface is the volume.
    volume = (normals[:, 0] * triangles[:, :, 0].mean(axis=1)).sum() / 2.0
    assert volume == pytest.approx(2.0)


def test_another_reader_takes_the_file(tmp_path):
    triangles = hull_triangles(cube_file(tmp_path / 'cube.obj'), (1.0, 1.0, 1.0))
    (tmp_path / 'hull.stl').write_bytes(binary_stl(triangles))
    read = np.array(coal.MeshLoader().load(str(tmp_path / 'hull.stl'), np.ones(3)).vertices())
    assert {tuple(point) for point in read.round(6)} == {tuple(point) for point in CORNERS}
