"""``sysid payload``: two recordings, or one and a fit, and the load between them."""

import json

import numpy as np
import pytest
import yaml

from support.report_runs import HOSTILE, forget_numbers, rename_everything
from support.simulated_arm import SimulatedArm
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.report.page import render_page
from sysid_ros.report.report import Report

MASS, COM = 1.2, np.array([0.0, 0.03, 0.1])
SETTINGS = """\
robot: {{urdf: arm.urdf}}
recording:
  format: csv
  file: {name}.csv
  joints: [{joints}]
  time: {{column: t}}
  position: {{columns: [q0, q1, q2, q3]}}
  effort: {{columns: [f0, f1, f2, f3], unit: N·m}}
processing: {{parallel_filter: {{cutoff: 10.0, decimate_to: 25.0}}}}
fit: {{estimator: wls, minimum_velocity: 0.02}}
"""


def write(folder, name, load, motion):
    arm, path = SimulatedArm(0), SimulatedArm(motion)
    t = np.arange(4000) / 200.0
    q, v, a = path.motion(t)
    truth = arm._inertials.copy()
    truth[-10:] += load
    dry, viscous = arm._friction
    tau = arm.model.regressor(q, v, a)[:, :, :len(truth)] @ truth + dry * np.sign(v) + viscous * v
    tau += 0.02 * np.sqrt(np.mean(tau**2, axis=0)) * np.random.default_rng(motion).normal(
        size=tau.shape)
    np.savetxt(folder / f'{name}.csv', np.column_stack([t, q, tau]), delimiter=',', comments='',
               header='t,q0,q1,q2,q3,f0,f1,f2,f3')
    (folder / 'arm.urdf').write_text(arm.description)
    settings = folder / f'{name}.yaml'
    settings.write_text(SETTINGS.format(name=name, joints=', '.join(arm.joint_names)))
    return settings


@pytest.fixture(scope='module')
def recordings(tmp_path_factory):
    folder = tmp_path_factory.mktemp('recordings')
    load = np.array([MASS, *(MASS * COM), 0.016, 0.0, 0.015, 0.0, -0.0036, 0.004])
    return write(folder, 'loaded', load, 3), write(folder, 'empty', np.zeros(10), 4)


def test_the_load_between_two_recordings_is_told_and_written(recordings, tmp_path, capsys):
    loaded, empty = recordings
    file = tmp_path / 'load.yaml'
    assert main(['payload', str(loaded), '--empty', str(empty), '-o', str(file)]) == ExitCode.OK
    said = yaml.safe_load(file.read_text())
    assert said['mass']['value'] == pytest.approx([MASS], rel=0.02)
    error = np.array(said['center_of_mass']['value']) - COM
    assert np.linalg.norm(error) < 0.05 * np.linalg.norm(COM)
    assert 0.0 < said['mass']['standard_deviation'][0] < 0.02
    assert said['frame'] == said['body'] == 'wrist'
    shown = capsys.readouterr().out
    assert 'mass' in shown and 'kg·m²' in shown and 'without the load' in shown
    assert (tmp_path / 'report_load.html').is_file() and 'report_load.html' in shown
    report = Report.load(tmp_path / 'report_load.json')
    load, robot, torques = report.sections[:3]
    assert load.mass.value == pytest.approx(said['mass']['value'][0])
    assert load.mass.interval == pytest.approx(1.96 * said['mass']['standard_deviation'][0])
    # The load is where it was put: in the frame of the wrist, carried along.
    carried = robot.bodies[-1]
    assert carried.body == 'load on wrist' and carried.after.mass == pytest.approx(MASS, rel=0.02)
    errors = said['relative_torque_error']
    assert load.error_with == pytest.approx(errors['with_load'])
    for joint, drawn in zip(load.joints, torques.groups[0].joints, strict=True):
        measured, left = (
            np.array([value for value in values if value is not None])
            for values in (drawn.measured, drawn.residual))
        assert joint.with_load == pytest.approx(
            np.linalg.norm(left) / np.linalg.norm(measured), rel=0.02)
    for change in (rename_everything(HOSTILE), forget_numbers):
        data = json.loads((tmp_path / 'report_load.json').read_text())
        change(data)
        assert b'<img' not in render_page(Report.model_validate(data))


def test_the_second_file_may_leave_the_robot_to_the_first(recordings, capsys):
    loaded, empty = recordings
    short = loaded.parent / 'short.yaml'
    short.write_text(''.join(empty.read_text().splitlines(keepends=True)[1:]))
    assert main(['payload', str(loaded), '--empty', str(short)]) == ExitCode.OK
    assert main(['payload', str(loaded), '--empty', str(short), '--link', 'nowhere']) == 2
    assert "no such moving link (found 'nowhere'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_stands_for_the_empty_recording(recordings, tmp_path, capsys):
    loaded, empty = recordings
    run, file = tmp_path / 'run', tmp_path / 'load.yaml'
    assert main(['fit', str(empty), '-o', str(run)]) == ExitCode.NOT_COMMITTABLE
    assert main(['payload', str(loaded), '--run', str(run), '-o', str(file)]) == ExitCode.OK
    assert yaml.safe_load(file.read_text())['mass']['value'] == pytest.approx([MASS], rel=0.02)


def test_no_load_is_told_as_none(recordings, capsys):
    _, empty = recordings
    other = write(empty.parent, 'other', np.zeros(10), 5)
    assert main(['payload', str(other), '--empty', str(empty)]) == ExitCode.OK
    assert 'there may be no load' in capsys.readouterr().out
