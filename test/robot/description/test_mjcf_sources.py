"""MJCF that MuJoCo resolves: includes, meshes, total mass, couplings by tendons, sites, objects."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.errors import ModelError
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.release.description_export import verify_export, write_description
from sysid_ros.robot.description.urdf import load_description
from sysid_ros.robot.model import RobotModel

mujoco = pytest.importorskip('mujoco')

BODY = (
    '<body name="arm" pos="0 0 0.1"><joint name="ja" axis="0 1 0"/><geom size="0.1" pos="0.2 0 0"/>'
    '{}</body>'
)
MAIN = """<mujoco model="split">
  <!-- stays -->
  <compiler meshdir="meshes"/><include file="parts/defaults.xml"/>
  <worldbody>
    <body name="trunk"><joint name="jt"  axis="0 0 1"/><geom size="0.2"/>
      <include file="parts/arm.xml"></include>
    </body>
  </worldbody>
</mujoco>
"""


def split(folder):
    """A robot in three files; the arm's lies in a folder and includes one beside it."""
    (folder / 'parts').mkdir()
    (folder / 'parts/defaults.xml').write_text(
        '<?xml version="1.0"?><mujocoinclude><default><geom density="500"/></default>'
        '</mujocoinclude>')
    (folder / 'parts/arm.xml').write_text(
        '<mujoco>' + BODY.format('<include file="hand.xml"/>') + '</mujoco>')
    (folder / 'parts/hand.xml').write_text(
        '<mujocoinclude><body name="hand"><joint name="jh"/><geom size="0.05"/></body>'
        '</mujocoinclude>')
    path = folder / 'robot.xml'
    path.write_text(MAIN)
    return path


def masses(model):
    return {model.body(k).name: float(model.body_mass[k]) for k in range(1, model.nbody)}


def test_included_files_are_read_as_mujoco_reads_them(tmp_path):
    path = split(tmp_path)
    # MuJoCo looks beside the main file alone; the hand is in its reach there, too.
    (tmp_path / 'hand.xml').write_text((tmp_path / 'parts/hand.xml').read_text())
    expected = masses(mujoco.MjModel.from_xml_path(str(path)))
    (tmp_path / 'hand.xml').unlink()
    robot = RobotModel.from_mjcf(path)
    assert robot.joint_names == ('jt', 'ja', 'jh')
    found = dict(zip(robot.body_names, robot.inertial_prior[:, 0], strict=True))
    assert found == pytest.approx(expected)
    names = [file.name for file in robot.description.included]
    assert names == ['defaults.xml', 'arm.xml', 'hand.xml']


def test_the_digest_tells_a_change_of_an_included_file(tmp_path):
    path = split(tmp_path)
    before = load_description(path).sha256
    (tmp_path / 'parts/hand.xml').write_text('<mujocoinclude/>')
    assert load_description(path).sha256 != before


def test_the_export_holds_the_included_files_and_changes_nothing_else(tmp_path):
    robot = RobotModel.from_mjcf(split(tmp_path))
    parameters = TorqueModel(robot).parameters
    heavier = parameters.with_values({'hand.mass': 1.5 * parameters['hand.mass']})
    export = write_description(tmp_path / 'out.xml', robot, heavier)
    assert 'includes other files (defaults.xml, arm.xml, hand.xml)' in ' '.join(export.notes)
    start = export.xml.index(b'<inertial'), export.xml.index(b'/>', export.xml.index(b'<inertial'))
    assert export.xml[:start[0]] + export.xml[start[1] + 2:] == robot.description.xml
    assert export.xml.startswith(b'<mujoco model="split">\n  <!-- stays -->')
    model = mujoco.MjModel.from_xml_path(str(tmp_path / 'out.xml'))
    assert masses(model)['hand'] == pytest.approx(heavier['hand.mass'], rel=1e-12)


@pytest.mark.parametrize(('content', 'words'), [
    ('<include file="nowhere.xml"/>', "file that does not exist .found 'nowhere.xml'"),
    ('<include file="robot.xml"/>', 'includes a file twice'),
    ('<include file="bomb.xml"/>', 'bomb.xml: declares a document type'),
])
def test_an_include_that_is_missing_endless_or_harmful_is_refused(tmp_path, content, words):
    path = tmp_path / 'robot.xml'
    path.write_text(f'<mujoco><worldbody>{content}</worldbody></mujoco>')
    (tmp_path / 'bomb.xml').write_text('<!DOCTYPE x [<!ENTITY a "b">]><mujoco>&a;</mujoco>')
    with pytest.raises(ModelError, match=words):
        RobotModel.from_mjcf(path)


def tetrahedron(path):
    path.parent.mkdir()
    path.write_text(
        'v 0 0 0\nv 0.3 0 0\nv 0 0.2 0\nv 0 0 0.1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n')


def test_the_mass_of_a_mesh_and_a_total_are_those_of_mujoco_and_are_exported(tmp_path):
    tetrahedron(tmp_path / 'meshes/part.obj')
    path = tmp_path / 'robot.xml'
    path.write_text(
        '<mujoco><compiler meshdir="meshes" settotalmass="3"/>'
        '<asset><mesh name="part" file="part.obj"/></asset><worldbody>'
        + BODY.format('<body name="tip"><joint name="jp"/><geom type="mesh" mesh="part"/></body>')
        + '</worldbody></mujoco>')
    model, robot = mujoco.MjModel.from_xml_path(str(path)), RobotModel.from_mjcf(path)
    assert sum(robot.inertial_prior[:, 0]) == pytest.approx(3.0)
    for k, name in enumerate(robot.body_names):
        body = model.body(name)
        np.testing.assert_allclose(robot.inertial_prior[k, 0], body.mass, rtol=1e-12)
        np.testing.assert_allclose(robot.inertial_prior[k, 1:4], body.mass * body.ipos, atol=1e-12)
    parameters = TorqueModel(robot).parameters
    heavier = parameters.with_values({'tip.mass': 1.3 * parameters['tip.mass']})
    export = write_description(tmp_path / 'out.xml', robot, heavier)
    assert verify_export(robot, heavier, export) < 1e-9
    written = masses(mujoco.MjModel.from_xml_path(str(tmp_path / 'out.xml')))
    assert written == pytest.approx({name: heavier[f'{name}.mass'] for name in robot.body_names})


def test_a_tendon_whose_length_is_held_couples_its_two_joints():
    text = (
        '<mujoco><worldbody>'
        + BODY.format('<body name="b"><joint name="jb" ref="20"/><geom size="0.1"/></body>')
        + '</worldbody><tendon><fixed name="t" stiffness="5"><joint joint="ja" coef="0.5"/>'
        '<joint joint="jb" coef="2"/></fixed></tendon>'
        '<equality><tendon tendon1="t" polycoef="0.1"/></equality></mujoco>')
    model, robot = mujoco.MjModel.from_xml_string(text), RobotModel.from_mjcf(text)
    assert robot.joint_names == ('jb',)
    data = mujoco.MjData(model)
    for q in (-0.4, 0.0, 0.7):
        data.qpos[:] = robot.tree.coupling @ [q] + robot.tree.coupling_offset
        mujoco.mj_forward(model, data)
        constraint = data.efc_type[:data.nefc] == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        np.testing.assert_allclose(data.efc_pos[:data.nefc][constraint], 0.0, atol=1e-12)


@pytest.mark.parametrize('kind', ['connect', 'weld'])
def test_loops_closed_at_sites_are_those_closed_at_bodies(kind):
    def robot(equality):
        return RobotModel.from_mjcf(
            '<mujoco><worldbody><body name="a"><joint name="ja" axis="0 1 0"/><geom size="0.1"/>'
            '<site name="sa" pos="0 0 0.5"/></body><body name="b" pos="1 0 0"><joint name="jb" '
            'axis="0 1 0"/><geom size="0.1"/><site name="sb" pos="-1 0 0.5"/></body></worldbody>'
            f'<equality>{equality}</equality><actuator><motor joint="ja"/></actuator></mujoco>')

    at_sites = robot(f'<{kind} site1="sa" site2="sb"/>')
    anchor = 'anchor="0 0 0.5"' if kind == 'connect' else 'relpose="1 0 0 1 0 0 0"'
    at_bodies = robot(f'<{kind} body1="a" body2="b" {anchor}/>')
    first, second = (one.loops.closures[0] for one in (at_sites, at_bodies))
    for one, robot_of in ((first, at_sites), (second, at_bodies)):
        places = [robot_of.place_of(link)[0] for link in one.links]
        assert places == [0, 1] and one.kind == ('point' if kind == 'connect' else 'frame')
    np.testing.assert_allclose(first.poses[0][:3, 3] - first.poses[1][:3, 3], [1, 0, 0], atol=1e-12)
    if kind == 'connect':
        np.testing.assert_allclose(first.poses, second.poses, atol=1e-12)


def test_a_free_object_beside_the_robot_is_left_out_and_said():
    text = ('<mujoco><worldbody>' + BODY.format('')
            + '<body name="kettle"><freejoint/><geom size="1"/></body></worldbody></mujoco>')
    robot = RobotModel.from_mjcf(text)
    assert (robot.body_names, robot.free_joint) == (('arm',), '')
    assert 'kettle' not in [link.name for link in (*robot.base_links, *robot.links)]
    assert 'free-object' in [finding.code for finding in robot.findings]


def test_a_joint_without_a_name_is_called_by_its_body_and_can_be_written():
    robot = RobotModel.from_mjcf(
        '<mujoco><worldbody><body name="arm"><joint damping="1"/><geom size="0.1"/></body>'
        '</worldbody></mujoco>')
    assert robot.joint_names == ('arm_joint',)
    assert robot.described_joints['arm_joint'].damping == 1.0


def test_a_copy_elsewhere_finds_its_meshes_where_it_is_told(tmp_path):
    tetrahedron(tmp_path / 'meshes/part.obj')
    text = ('<mujoco><compiler meshdir="meshes"/><asset><mesh name="part" file="part.obj"/></asset>'
            '<worldbody>{}</worldbody></mujoco>')
    geom = '<geom type="mesh" mesh="part"/>'
    (tmp_path / 'robot.xml').write_text(
        text.format(f'<body name="a"><joint name="j"/>{geom}</body>'))
    (tmp_path / 'copy').mkdir()
    copy = tmp_path / 'copy/robot.xml'
    copy.write_bytes((tmp_path / 'robot.xml').read_bytes())
    with pytest.raises(ModelError, match="Error opening file 'meshes/part.obj'"):
        RobotModel.from_mjcf(copy)
    found = RobotModel.from_mjcf(copy, assets=tmp_path)
    assert found.description.compiled.needs_meshes
    np.testing.assert_array_equal(
        found.inertial_prior, RobotModel.from_mjcf(tmp_path / 'robot.xml').inertial_prior)
    # What stands still needs no mass, and so no mesh.
    still = RobotModel.from_mjcf(text.format(
        f'<body name="pedestal">{geom}</body>' + BODY.format('')))
    assert not still.description.compiled.needs_meshes
