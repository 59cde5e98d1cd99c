"""``sysid fit`` on a bag of joint states and what a robot without torque sensors was told."""

from __future__ import annotations

import pytest
import yaml

from support import actuated_arm as arm
from support.command_bags import Command, trajectory, write_command_bag
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.estimation.estimate import Estimate

# What joint states take from stamp to reception in [s].
LATE = 0.002


@pytest.mark.slow
def test_drives_are_found_from_a_bag(tmp_path, capsys):
    (tmp_path / 'arm.xml').write_text(arm.DESCRIBED)
    t, command, q = arm.recording(8.0, 1.0, 0)
    told = [
        Command(at + LATE, trajectory(arm.JOINTS, [(0.0, row)]), '/arm_controller/joint_trajectory')
        for at, row in zip(t, command, strict=True)]
    write_command_bag(tmp_path / 'bag', t, arm.JOINTS, q, told, late=LATE)
    servos = {
        name: {'kind': 'position_servo', 'kp': kp, 'kd': kd, 'torque_limit': limit}
        for name, kp, kd, limit in zip(arm.JOINTS, arm.KP, arm.KD, arm.LIMIT, strict=True)}
    (tmp_path / 'fit.yaml').write_text(yaml.safe_dump({
        'robot': {'description': 'arm.xml', 'actuators': servos},
        'recording': {
            'format': 'rosbag', 'file': 'bag',
            'command': {'topic': '/arm_controller/joint_trajectory'}}}))
    code = main([
        'fit', str(tmp_path / 'fit.yaml'), '--holdout', '0.3', '-o', str(tmp_path / 'run')])
    assert code == ExitCode.OK, capsys.readouterr().err
    estimate = Estimate.load(tmp_path / 'run' / 'estimate.json')
    for field, values in arm.TRUTH.items():
        for joint, truth in zip(arm.JOINTS, values, strict=True):
            # MuJoCo's dry friction is another law, and less was seen than the whole recording.
            assert estimate.parameters[f'{joint}.{field}'] == pytest.approx(truth, rel=0.15)
    assert estimate.parameters['command.delay'] == pytest.approx(arm.DELAY, abs=5e-4)
