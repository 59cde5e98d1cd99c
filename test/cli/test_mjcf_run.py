"""A robot described by an MJCF goes through the commands as one described by a URDF does."""

import numpy as np
import pytest
import yaml

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.mechanics.configuration import RobotSettings
from sysid_ros.robot.inertia import inertial_parameters
from sysid_ros.robot.model import RobotModel

ARM = """\
<mujoco model="arm">
  <compiler angle="radian"/>
  <worldbody>
    <body name="upper" pos="0 0 0.3">
      <joint name="shoulder" axis="0 1 0" damping="0.4" frictionloss="0.3"/>
      <inertial pos="0.02 0 0.12" mass="1.5" diaginertia="0.012 0.012 0.002"/>
      <body name="fore" pos="0 0 0.25">
        <joint name="elbow" axis="1 0 0" armature="0.05"/>
        <geom type="capsule" size="0.03" fromto="0 0 0 0 0 0.2" mass="0.8"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
SETTINGS = """\
robot: {description: arm.xml}
recording:
  format: csv
  file: data.csv
  joints: [shoulder, elbow]
  time: {column: t}
  position: {columns: [q1, q2]}
  velocity: {columns: [v1, v2]}
  acceleration: {columns: [a1, a2]}
  effort: {columns: [f1, f2], unit: N·m}
processing: {differentiation: measured}
"""


@pytest.fixture(scope='module')
def fitted(tmp_path_factory):
    """A run of an arm whose hand is heavier, and whose drive is larger, than described."""
    folder = tmp_path_factory.mktemp('mjcf')
    (folder / 'arm.xml').write_text(ARM)
    model = RobotSettings(description='arm.xml').build(folder)
    truth = model.parameters.with_values({'elbow.armature': 0.08}).values
    truth = truth.copy()
    truth[10:20] = inertial_parameters(1.1, np.array([0.0, 0.02, 0.12]), 0.004 * np.eye(3))
    t = np.arange(2000) / 100.0
    pace = np.array([[1.1, 2.3], [2.7, 1.3], [4.1, 4.9]])
    angle = pace * t[:, None, None] + np.arange(6.0).reshape(3, 2)
    q = 0.5 * np.sin(angle).sum(1)
    v = 0.5 * (pace * np.cos(angle)).sum(1)
    a = -0.5 * (pace**2 * np.sin(angle)).sum(1)
    tau = model.torque(truth, q, v, a) + np.random.default_rng(0).normal(0.0, 0.02, q.shape)
    np.savetxt(folder / 'data.csv', np.column_stack([t, q, v, a, tau]), delimiter=',',
               header='t,q1,q2,v1,v2,a1,a2,f1,f2', comments='')
    (folder / 'settings.yaml').write_text(SETTINGS)
    run = folder / 'run'
    code = main(['fit', str(folder / 'settings.yaml'), '--holdout', '0.3', '-o', str(run)])
    assert code == ExitCode.OK
    return run


def test_a_fit_leaves_an_mjcf_in_the_run_folder(fitted):
    assert (fitted / 'prior.xml').read_text() == ARM
    assert not list(fitted.glob('*.urdf'))
    identified = RobotModel.from_mjcf(fitted / 'identified.xml')
    assert identified.inertial_prior[1, 3] == pytest.approx(1.1 * 0.12, rel=0.02)
    # The description gives the elbow a drive, so it is identified without being asked for.
    assert identified.described_joints['elbow'].armature == pytest.approx(0.08, rel=0.2)
    assert identified.described_joints['shoulder'].armature == 0.0


def test_export_writes_the_format_that_was_identified(fitted, tmp_path, capsys):
    out = tmp_path / 'out.xml'
    assert main(['export', str(fitted), '-o', str(out)]) == ExitCode.OK
    assert out.read_bytes() == (fitted / 'identified.xml').read_bytes()
    assert out.read_text().startswith('<mujoco model="arm">')


def test_a_run_is_repeated_from_its_own_folder(fitted, tmp_path):
    settings = yaml.safe_load((fitted / 'settings.yaml').read_text())
    assert settings['robot']['description'] == 'prior.xml'
    code = main(['fit', str(fitted / 'settings.yaml'), '--holdout', '0.3',
                 '-o', str(tmp_path / 'again')])
    assert code == ExitCode.OK


def test_model_shows_what_an_mjcf_holds(fitted, capsys):
    assert main(['model', str(fitted / 'prior.xml')]) == ExitCode.OK
    shown = capsys.readouterr().out
    assert "Robot 'arm': 2 joints, 2 moving bodies" in shown
    assert 'friction, armature and offsets' in shown


def test_model_says_that_a_base_floats(tmp_path, capsys):
    file = tmp_path / 'floating.xml'
    file.write_text(ARM.replace('<joint name="shoulder" axis="0 1 0" damping="0.4" '
                                'frictionloss="0.3"/>', '<freejoint/>'))
    assert main(['model', str(file)]) == ExitCode.OK
    assert 'The base floats (upper_free)' in capsys.readouterr().out


@pytest.fixture
def hung_up(fitted, tmp_path):
    """The arm on a trunk with a free joint, and its recording, in which the trunk was held."""
    trunk = ('<body name="trunk" pos="0 0 1"><freejoint name="root"/>'
             '<inertial pos="0 0 0" mass="4" diaginertia="0.1 0.1 0.1"/>'
             '<body name="upper" pos="0 0 0.3">')
    (tmp_path / 'legged.xml').write_text(ARM.replace(
        '<body name="upper" pos="0 0 0.3">', trunk).replace(
        '</worldbody>', '</body></worldbody>'))
    (tmp_path / 'data.csv').write_text((fitted.parent / 'data.csv').read_text().replace(
        't,q1,q2,v1,v2,a1,a2,f1,f2', 't,q_shoulder,q_elbow,v_shoulder,v_elbow,a_shoulder,a_elbow,'
        'effort_shoulder,effort_elbow'))
    return tmp_path


@pytest.mark.slow
def test_settings_take_a_free_joint_to_be_held_and_say_so(hung_up, capsys):
    path = hung_up / 'legged.yaml'
    assert main(['init', str(hung_up / 'legged.xml'), str(hung_up / 'data.csv'),
                 '--effort-scale', '1', '-o', str(path)]) == ExitCode.OK
    assert 'the free joint root' in ' '.join(capsys.readouterr().out.split())
    assert yaml.safe_load(path.read_text())['robot']['base'] == 'fixed'
    run = hung_up / 'run'
    assert main(['fit', str(path), '--holdout', '0.3', '-o', str(run)]) == ExitCode.OK
    # The trunk is not identified, and the free joint is left to whoever simulates the robot.
    assert '<freejoint name="root"/>' in (run / 'identified.xml').read_text()


def test_a_free_joint_of_which_nothing_is_said_is_refused_with_what_to_say(hung_up, capsys):
    path = hung_up / 'legged.yaml'
    path.write_text(SETTINGS.replace('arm.xml', 'legged.xml'))
    (hung_up / 'data.csv').write_text((hung_up / 'data.csv').read_text().replace(
        'q_shoulder,q_elbow,v_shoulder,v_elbow,a_shoulder,a_elbow,effort_shoulder,effort_elbow',
        'q1,q2,v1,v2,a1,a2,f1,f2'))
    assert main(['fit', str(path), '-o', str(hung_up / 'run')]) == ExitCode.BAD_INPUT
    assert 'robot: {base: fixed} where it was held' in capsys.readouterr().err


def test_motions_of_a_robot_with_a_free_joint_are_planned_for_a_base_that_is_held(
        hung_up, capsys):
    path = hung_up / 'plan.yaml'
    assert main(['init', 'excite', str(hung_up / 'legged.xml'), '-o', str(path), '--lower', '-1',
                 '--upper', '1', '--velocity', '1', '--effort', '9', '--floor', 'none']
                ) == ExitCode.OK
    assert 'hang the robot up, or bolt it down, at trunk' in ' '.join(
        capsys.readouterr().out.split())
    assert yaml.safe_load(path.read_text())['robot']['base'] == 'fixed'
