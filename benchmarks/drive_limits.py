"""Drives whose torque falls with speed: their limits from commands and encoders.

The arm of ``actuators.py`` under position servos in MuJoCo at 10 kHz, whose torque is cut in every
step to what a motor under a voltage that it cannot exceed has left at that speed: 30 N·m at the
shoulder, 3 N·m at the wrist, none at 3 rad/s. Commands ask for up to 2.7 rad/s, fast ones at both
ends. A fit with default settings gets both limits 30 % too small or too large, to be found, and
sees the first two thirds; the last third is simulated open loop. Beside it the same fit that knows
the true stall torque as a torque limit, and nothing of the fall with speed.

``python benchmarks/drive_limits.py [--seconds S]``
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import _one_core  # noqa: F401
import mujoco
import numpy as np
from actuators import (
    BITS,
    DELAY,
    DESCRIBED,
    HARD,
    HOLDOUT,
    RATE,
    STEP,
    arm,
    document,
    figures,
    fitted,
    settings,
    triangles,
)

KP, KD, SPEED = 60.0, 2.0, 3.0
STALL = (30.0, 30.0, 20.0, 6.0, 4.0, 3.0)
GUESSES = (0.7, 1.3)
# Joints whose drive is at its limit for so much of the time are told by it.
TOLD = 0.01
# Error of the motion in parts of that without the fall of torque with speed.
BAR_GAIN = 0.1


def recorded(xml, command):
    """Encoder readings at every period, ``(T, n)``, and parts of the fitted time at the limit.

    Args:
        xml: The true robot, a motor at each joint.
        command: Wanted positions, each held until the next, shape ``(T, n)``.
    """
    model = mujoco.MjModel.from_xml_string(xml)
    model.opt.timestep, model.opt.integrator = STEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    data, every, late = mujoco.MjData(model), round(1.0 / (RATE * STEP)), round(DELAY / STEP)
    count, stall, read = 2.0 * np.pi / 2**BITS, np.array(STALL), []
    fitted_steps, limited = (1.0 - HOLDOUT) * len(command) * every, np.zeros(len(STALL))
    data.qpos[:] = command[0]
    for k in range(len(command) * every):
        if k % every == 0:
            read.append(np.round(data.qpos / count) * count)
        wanted, fall = command[max(k - late, 0) // every], stall * data.qvel / SPEED
        torque = KP * (wanted - data.qpos) - KD * data.qvel
        data.ctrl[:] = np.clip(torque, -stall - fall, stall - fall)
        limited += (data.ctrl != torque) * (k < fitted_steps)
        mujoco.mj_step(model, data)
    return np.array(read), limited / fitted_steps


def case(seconds):
    """Names, true frictions and armatures, parts at the limit, and the recorded table."""
    rng = np.random.default_rng(4)
    drawn = np.array(list(DESCRIBED.values())) * np.exp(rng.uniform(-1.1, 1.1, (6, 3)))
    true, names = arm(drawn.tolist())
    half = triangles(np.arange(round(0.5 * seconds * RATE)) / RATE, 6, rng)
    command = np.concatenate([half[::-1], half])
    read, limited = recorded(
        document(true, ''.join(f'<motor joint="{name}"/>' for name in names)), command)
    t = np.arange(len(command)) / RATE
    return names, drawn, limited, np.column_stack([t, command, read])


def truths(names, drawn, limited):
    """True parameters of drives, limits of those alone that are at them for long enough."""
    expected = {'command.delay': DELAY - 0.5 * STEP}
    for name, (damping, _, armature), stall, part in zip(
            names, drawn, STALL, limited, strict=True):
        # Steps that are implicit in the damping of the joint and explicit in that of the drive.
        expected[f'{name}.armature'] = armature + 0.5 * STEP * (damping - KD)
        if part >= TOLD:
            expected |= {f'{name}.stall_torque': stall, f'{name}.no_load_speed': SPEED}
    return expected


def main():
    """Fit with and without the fall of torque with speed, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seconds', type=float, default=15.0)
    names, drawn, limited, table = case(parser.parse_args().seconds)
    servo = {'kind': 'position_servo', 'kp': KP, 'kd': KD}
    rows = []
    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        described, _ = arm([tuple(DESCRIBED.values())] * 6)
        (folder / 'robot.xml').write_text(document(described.replace(HARD, '')))
        header = ['t', *(f'u_{name}' for name in names), *(f'q_{name}' for name in names)]
        np.savetxt(folder / 'data.csv', table, delimiter=',', header=','.join(header), comments='',
                   fmt='%.9g')

        def fit(actuators):
            return fitted(settings(names, actuators, 'rad'), folder)[1:]

        without, _ = fit({
            name: servo | {'torque_limit': stall}
            for name, stall in zip(names, STALL, strict=True)})
        print('at the limit: ' + ', '.join(
            f'{name} {100.0 * part:.2g} %' for name, part in zip(names, limited, strict=True)))
        for guess in GUESSES:
            evaluation, took = fit({
                name: servo | {'stall_torque': guess * stall, 'no_load_speed': guess * SPEED,
                               'sought': ['stall_torque', 'no_load_speed']}
                for name, stall in zip(names, STALL, strict=True)})
            title = f'falling torque, first guess {guess:g}'
            rows += figures(title, evaluation, truths(names, drawn, limited))
            gain = evaluation.held_out.candidate.rms / without.held_out.candidate.rms
            print('; '.join(evaluation.estimate.notes) or 'no notes', f'; {took:.1f} s')
            rows.append({
                'name': f'{title}: motion simulated open loop, unseen', 'value': gain, 'unit': '',
                'reference': 'the same fit without the fall with speed', 'bar': f'<= {BAR_GAIN:g}',
                'ok': bool(gain <= BAR_GAIN)})
    print(json.dumps(rows))


if __name__ == '__main__':
    main()
