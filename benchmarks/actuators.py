"""Robots without torque sensors: from commands and encoders to drives that simulate them.

Two robots are simulated in MuJoCo with its implicit integrator at 10 kHz, whose dry friction is a
constraint and not the smoothed law that is fitted: an arm of six joints and a quadruped with its
base held, both under position servos, the arm under currents that a controller sends, and the arm
with gears that lose a part of the load they transmit, which no MJCF holds. Frictions
and armatures are drawn at random within a factor of three of a description that knows none of them,
the commands are late, encoders have 16 bits. What the steps of MuJoCo make of inertias and delays
counts as true (:func:`as_simulated`); the softness of its dry friction is in no description. A fit
with default settings, what it chooses with it, sees the first two thirds; the last third is
simulated open loop, by our rollouts and in MuJoCo by the MJCF that is exported. The real quadruped,
where its recording is at hand, is compared with its published description, which MuJoCo simulates.
Times are those of the processor.

``python benchmarks/actuators.py [--seconds S] [PART ...]`` runs some of the parts ``arm``,
``quadruped``, ``currents``, ``gears`` and ``go2``.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import _one_core  # noqa: F401
import mujoco
import numpy as np
import yaml

from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.evaluation.simulation import HORIZON
from sysid_ros.evaluation.study import Study
from sysid_ros.mechanics.actuators.actuators import actuated
from sysid_ros.release.description_export import export_description
from sysid_ros.release.dry_friction import dry_friction_parameters

RATE, STEP, BITS, DELAY = 200.0, 1e-4, 16, 0.006
HOLDOUT = 1.0 / 3.0
# Parts of the description's error that may be left; time in [s]; parts of the truth that parameters
# outside of their intervals may be off by; error of an exported MJCF in parts of ours.
BAR_ERROR, BAR_REAL, BAR_SECONDS, BAR_PARAMETERS, BAR_EXPORT = 0.2, 0.42, 10.0, 0.05, 1.05
# Time of a fit for 30 s of 200 Hz, in [s].
BAR_FIT, BAR_LENGTH = 15.0, 30.0
# Friction of the true robots holds joints.
HARD = ' solreffriction="0.001 1" solimpfriction="0.99 0.999 0.001"'
FIELDS = ('viscous_friction', 'coulomb_friction', 'armature')
DESCRIBED = {'viscous_friction': 0.2, 'coulomb_friction': 0.2, 'armature': 0.01}
DATA = Path(os.environ.get('SYSID_DATA', Path(__file__).resolve().parents[2] / 'shared' / 'data'))


def link(name, axis, at, mass, size, inside='', values=(0.2, 0.2, 0.01)):
    """A body on a hinge with its inertia beside it, and what it carries."""
    damping, friction, armature = values
    inertia = ' '.join(f'{mass * (size**2 / 12.0 + 4e-4):.6g}' for _ in range(2))
    return (
        f'<body name="{name}_link" pos="{at}"><joint name="{name}" axis="{axis}" '
        f'damping="{damping!r}" frictionloss="{friction!r}" armature="{armature!r}"{HARD}/>'
        f'<inertial pos="0.01 0.005 {-0.4 * size:.4g}" mass="{mass}" '
        f'diaginertia="{inertia} {mass * 8e-4:.6g}"/>{inside}</body>')


def arm(values):
    """Six joints, each with frictions and armature of its own."""
    sizes = (0.2, 0.4, 0.35, 0.15, 0.1, 0.08)
    masses = (4.0, 3.5, 2.0, 1.0, 0.7, 0.3)
    axes = ('0 0 1', '0 1 0', '0 1 0', '0 0 1', '0 1 0', '0 0 1')
    text = ''
    for k in reversed(range(6)):
        text = link(f'joint{k + 1}', axes[k], f'0 0 {-sizes[k - 1] if k else 1.5}', masses[k],
                    sizes[k], text, values[k])
    return text, [f'joint{k + 1}' for k in range(6)]


def quadruped(values):
    """Four legs of three joints on a base that is held."""
    text, names = '', []
    for leg, (name, x, y) in enumerate(
            (('FL', 0.2, 0.1), ('FR', 0.2, -0.1), ('RL', -0.2, 0.1), ('RR', -0.2, -0.1))):
        own = values[3 * leg:3 * leg + 3]
        calf = link(f'{name}_calf', '0 1 0', '0 0 -0.2', 0.25, 0.2, '', own[2])
        thigh = link(f'{name}_thigh', '0 1 0', f'0 {np.sign(y) * 0.09} 0', 1.1, 0.2, calf, own[1])
        text += link(f'{name}_hip', '1 0 0', f'{x} {y} 0.6', 0.7, 0.05, thigh, own[0])
        names += [f'{name}_{part}' for part in ('hip', 'thigh', 'calf')]
    return text, names


def document(body, drives=''):
    """The MJCF of a robot."""
    return ('<mujoco model="robot"><compiler angle="radian"/><worldbody>'
            f'{body}</worldbody><actuator>{drives}</actuator></mujoco>')


def triangles(t, joints, rng):
    """Commanded triangles of rising frequency and sums of sines, shape ``(T, n)``."""
    phase = 2.0 * np.pi * (0.25 * t + (1.5 - 0.25) * t**2 / (2.0 * t[-1]))
    shifts, size = rng.uniform(0.0, 2.0 * np.pi, joints), rng.uniform(0.25, 0.45, joints)
    saw = 2.0 / np.pi * np.arcsin(np.sin(phase[:, None] + shifts))
    return size * saw + 0.1 * np.sin(np.outer(t, rng.uniform(1.0, 8.0, joints)) + shifts)


def recorded(xml, command, hold, losses=0.0):
    """Encoder readings and what the drives were told, at every period of the recording.

    Args:
        xml: The true robot with its drives.
        command: Wanted positions, shape ``(T, n)``.
        hold: What the drives are told, from wanted positions and encoder readings.
        losses: Dry friction of each joint in parts of its load, that of the step before.
    """
    model = mujoco.MjModel.from_xml_string(xml)
    model.opt.timestep, model.opt.integrator = STEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    data, every, late = mujoco.MjData(model), round(1.0 / (RATE * STEP)), round(DELAY / STEP)
    count, dry = 2.0 * np.pi / 2**BITS, model.dof_frictionloss.copy()
    data.qpos[:] = command[0]
    told, read = [], []
    for k in range(len(command) * every):
        if k % every == 0:
            read.append(np.round(data.qpos / count) * count)
            told.append(hold(command[k // every], read[-1]))
        data.ctrl[:] = told[max(k - late, 0) // every]
        mujoco.mj_step(model, data)
        model.dof_frictionloss[:] = dry + losses * np.abs(
            data.qfrc_actuator + data.qfrc_passive + data.qfrc_constraint
            - model.dof_armature * data.qacc)
    return np.array(told), np.array(read)


def settings(names, actuators, unit):
    """What a user writes, with nothing said that has a default."""
    return {
        'robot': {'description': 'robot.xml', 'actuators': actuators},
        'recording': {
            'format': 'csv', 'file': 'data.csv', 'joints': names, 'time': {'column': 't'},
            'position': {'prefix': 'q_'}, 'command': {'prefix': 'u_', 'unit': unit}}}


def fitted(content, folder):
    """Study and evaluation of a fit, and the processor's time that both took in [s]."""
    (folder / 'settings.yaml').write_text(yaml.safe_dump(content))
    start = time.process_time()
    setup = FitSetup.load(folder / 'settings.yaml')
    study = Study.load(setup, holdout=HOLDOUT, estimator=setup.settings.fit.estimator)
    evaluation = study.fit(setup.settings.fit.estimator)
    return study, evaluation, time.process_time() - start


def exported(study, estimate):
    """RMS error of the exported MJCF on the last third, simulated in MuJoCo, in [rad].

    Armatures and the delay that were found hold what implicit steps make of them already. So steps
    are those of Runge and Kutta, each under the command at its middle.
    """
    model, loop = study.setup.model, study.held_out.loop
    drives = actuated(model)
    simulated, _ = dry_friction_parameters(estimate)
    xml = export_description(model.robot, simulated, actuators=drives.actuators).xml.decode()
    mjcf = mujoco.MjModel.from_xml_string(xml)
    mjcf.opt.timestep, mjcf.opt.integrator = STEP, mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(mjcf)
    names = model.robot.joint_names
    joint = [mujoco.mj_name2id(mjcf, mujoco.mjtObj.mjOBJ_JOINT, name) for name in names]
    place, speed = mjcf.jnt_qposadr[joint], mjcf.jnt_dofadr[joint]
    drive = [list(mjcf.actuator_trnid[:, 0]).index(number) for number in joint]
    offset = np.array([simulated[f'{name}.torque_offset'] for name in names])
    delay, errors = simulated['command.delay'], []
    # Our rollouts start anew every half second where drives hold no positions.
    for piece in loop.pieces(None if loop.holds_positions else HORIZON):
        segment = loop.problem.segments[piece.segment]
        data.qpos[place], data.qvel[speed] = (
            part[piece.first] for part in loop.states[piece.segment])
        t = np.arange(segment.t[piece.first], segment.t[piece.last], STEP)
        path = np.empty((len(t), len(names)))
        told = segment.commands.at(t + 0.5 * STEP - delay)
        for k, row in enumerate(told):
            path[k] = data.qpos[place]
            data.ctrl[drive], data.qfrc_applied[speed] = row, -offset
            mujoco.mj_step(mjcf, data)
        read = segment.observations[0]
        rows = (read.t >= t[0]) & (read.t <= t[-1])
        errors.append(read.values[rows] - np.column_stack(
            [np.interp(read.t[rows], t, column) for column in path.T]))
    return float(np.sqrt(np.mean(np.square(np.concatenate(errors)))))


def as_simulated(armature, damping, delay):
    """Armature and delay that a motion by implicit steps has, to first order in their length.

    With velocities between the nodes, a step h of M dv/dt = f - D v reads M dw/h = f(q) - D w⁺ at
    the nodes: D acts h/2 late, as a mass h D/2 more does, and what holds from a node on h/2 early.
    """
    return armature + 0.5 * STEP * damping, delay - 0.5 * STEP


def case(seconds, title, builder, actuator, unit, drive, hold, seed, truths=None, losses=None):
    """Figures of one simulated robot that is recorded for some seconds."""
    kd = actuator['*'].get('kd', 0.0)
    rng = np.random.default_rng(seed)
    joints = 6 if builder is arm else 12
    drawn = np.array(list(DESCRIBED.values())) * np.exp(rng.uniform(-1.1, 1.1, (joints, 3)))
    true, names = builder(drawn.tolist())
    described, _ = builder([tuple(DESCRIBED.values())] * joints)
    t = np.arange(round(seconds * RATE)) / RATE
    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        (folder / 'robot.xml').write_text(document(described.replace(HARD, '')))
        drives = ''.join(drive.format(name) for name in names)
        told, read = recorded(
            document(true, drives), triangles(t, joints, rng), hold,
            0.0 if losses is None else np.array(losses))
        header = ['t', *(f'u_{name}' for name in names), *(f'q_{name}' for name in names)]
        np.savetxt(folder / 'data.csv', np.column_stack([t, told, read]), delimiter=',',
                   header=','.join(header), comments='', fmt='%.9g')
        study, evaluation, took = fitted(settings(names, actuator, unit), folder)
        error = exported(study, evaluation.estimate) if losses is None else None
    expected = {
        f'{name}.{field}': value for name, row in zip(names, drawn, strict=True)
        for field, value in zip(FIELDS, row, strict=True)}
    for name, (damping, _, armature) in zip(names, drawn, strict=True):
        expected[f'{name}.armature'], expected['command.delay'] = as_simulated(
            armature, kd + damping, DELAY)
        expected |= {f'{name}.{key}': value for key, value in (truths or {}).items()}
    expected |= {
        f'{name}.load_friction': loss for name, loss in zip(names, losses or (), strict=False)}
    ours = evaluation.held_out.candidate.rms
    return [
        *figures(title, evaluation, expected),
        *([] if error is None else [
            {'name': f'{title}: exported MJCF in MuJoCo, unseen', 'value': error / ours, 'unit': '',
             'reference': 'our rollout', 'bar': f'<= {BAR_EXPORT:g}',
             'ok': bool(error <= BAR_EXPORT * ours)}]),
        {'name': f'{title}: time of the fit for {seconds:g} s at 200 Hz', 'value': took,
         'unit': 's', 'bar': f'<= {BAR_FIT:g} s for {BAR_LENGTH:g} s',
         'ok': bool(took <= BAR_FIT * max(1.0, seconds / BAR_LENGTH))}]


def figures(title, evaluation, expected):
    """What is printed of a fit whose truth is known."""
    estimate, unseen = evaluation.estimate, evaluation.held_out
    index = [estimate.parameters.index(name) for name in expected]
    truth, found = np.array(list(expected.values())), estimate.parameters.values[index]
    size = np.where([name.endswith('delay') for name in expected], 1.0 / RATE, truth)
    off = np.abs(found - truth) / size
    inside = np.abs(found - truth) <= 1.96 * estimate.standard_deviation[index]
    right = float((inside | (off <= BAR_PARAMETERS)).mean())
    gained = unseen.candidate.rms / unseen.prior.rms
    print(f'{title}: {estimate.status.name}, {estimate.iterations} iterations; '
          f'RMS {unseen.candidate.rms:.2e} rad against {unseen.prior.rms:.2e} rad; parameters off '
          f'by {100 * np.median(off):.2g} % (median), {100 * off.max():.2g} % (worst, '
          f'{list(expected)[int(np.argmax(off))]}); 95 % intervals hold {inside.mean():.2f}; '
          f'{"committable" if evaluation.verdict.committable else "NOT committable"}')
    return [
        {'name': f'{title}: motion simulated open loop, unseen', 'value': gained, 'unit': '',
         'reference': 'the description', 'bar': f'<= {BAR_ERROR:g}',
         'ok': bool(estimate.status.ok and gained <= BAR_ERROR)},
        {'name': f'{title}: parameters within {100 * BAR_PARAMETERS:g} % or their intervals',
         'value': right, 'unit': '', 'bar': '1', 'ok': right == 1.0},
        {'name': f'{title}: median error of drive parameters', 'value': float(np.median(off)),
         'unit': '', 'ok': True},
        {'name': f'{title}: worst error of drive parameters', 'value': float(off.max()),
         'unit': '', 'ok': True},
        {'name': f'{title}: coverage of 95 % intervals', 'value': float(inside.mean()), 'unit': '',
         'ok': True},
    ]


def published(folder, names, t, command, read):
    """RMS error of the published description on the last third, by MuJoCo, in [rad]."""
    model = mujoco.MjModel.from_xml_path(str(folder / 'go2_fixed_base.xml'))
    model.opt.timestep, model.opt.integrator = STEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.actuator_gainprm[:, 0], model.actuator_biasprm[:, 1] = 20.0, -20.0
    model.actuator_biasprm[:, 2], model.actuator_biastype[:] = -1.5, mujoco.mjtBias.mjBIAS_AFFINE
    model.actuator_ctrllimited[:] = 0
    # Shapes of the legs overlap with those of the base.
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(model)
    drives = [model.actuator_trnid[k, 0] for k in range(model.nu)]
    joint = {name: mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name) for name in names}
    drive = [drives.index(joint[name]) for name in names]
    place = [model.jnt_qposadr[joint[name]] for name in names]
    first = int(np.searchsorted(t, t[0] + (1.0 - HOLDOUT) * (t[-1] - t[0])))
    data.qpos[place] = read[first]
    velocity = (read[first + 4] - read[first - 4]) / (t[first + 4] - t[first - 4])
    data.qvel[place] = velocity
    errors, row = [], first
    while row < len(t):
        errors.append(read[row] - data.qpos[place])
        following = t[row + 1] if row + 1 < len(t) else t[row]
        data.ctrl[drive] = command[row]
        while data.time < following - t[first] - 0.5 * STEP:
            mujoco.mj_step(model, data)
        row += 1
    return float(np.sqrt(np.mean(np.square(errors))))


def real():
    """Figures of the Unitree Go2, of which no torque was recorded."""
    folder = DATA / 'unitree_go2'
    if not folder.is_dir():
        print(f'Unitree Go2: no recording in {DATA.name}, left out')
        return []
    table = np.genfromtxt(folder / 'command_and_position.csv', delimiter=',', names=True)
    names = [name.removeprefix('position_') for name in table.dtype.names if 'position' in name]
    servo = {'kind': 'position_servo', 'kp': 20.0, 'kd': 1.5, 'torque_limit': 23.7}
    content = settings(names, {'*': servo}, 'rad')
    content['robot']['description'] = str(folder / 'go2_fixed_base.xml')
    content['recording'] |= {
        'file': str(folder / 'command_and_position.csv'), 'position': {'prefix': 'position_'},
        'command': {'prefix': 'command_'}}
    with tempfile.TemporaryDirectory() as where:
        _, evaluation, seconds = fitted(content, Path(where))
    reference = published(
        folder, names, table['t'], np.column_stack([table[f'command_{name}'] for name in names]),
        np.column_stack([table[f'position_{name}'] for name in names]))
    unseen = evaluation.held_out
    gained = unseen.candidate.rms / reference
    print(f'Unitree Go2: {evaluation.estimate.status.name}, {evaluation.estimate.iterations} '
          f'iterations, {seconds:.1f} s; RMS '
          f'{unseen.candidate.rms:.2e} rad, the description {unseen.prior.rms:.2e} rad by the same '
          f'rollout and {reference:.2e} rad by MuJoCo; '
          f'{"committable" if evaluation.verdict.committable else "NOT committable"}')
    return [
        {'name': 'Go2: motion simulated open loop, unseen', 'value': gained, 'unit': '',
         'reference': f'published description in MuJoCo, {reference:.3g} rad',
         'bar': f'<= {BAR_REAL:g}', 'ok': bool(gained <= BAR_REAL)},
        {'name': 'Go2: time of the fit', 'value': seconds, 'unit': 's',
         'bar': f'<= {BAR_SECONDS:g} s', 'ok': bool(seconds <= BAR_SECONDS)},
    ]


def simulated(seconds):
    """What makes the figures of each simulated robot, by name."""
    constant, gear = 0.06, 50.0
    # A controller beside the robot, whose loop the delay must not make unstable.
    outer, last = np.array([60.0, 60.0, 40.0, 8.0, 4.0, 1.5]), {}

    def controlled(wanted, reading):
        before = last.get('q', reading)
        last['q'] = reading
        return outer * (wanted - reading - 0.05 * RATE * (reading - before)) / (constant * gear)

    def unchanged(wanted, reading):
        return wanted

    return {
        'arm': lambda: case(
            seconds, 'arm, servos', arm,
            {'*': {'kind': 'position_servo', 'kp': 60.0, 'kd': 2.0}}, 'rad',
            '<position joint="{}" kp="60" kv="2"/>', unchanged, 1),
        'quadruped': lambda: case(
            seconds, 'quadruped, servos', quadruped,
            {'*': {'kind': 'position_servo', 'kp': 30.0, 'kd': 1.0}}, 'rad',
            '<position joint="{}" kp="30" kv="1"/>', unchanged, 2),
        'currents': lambda: case(
            seconds, 'arm, currents', arm,
            {'*': {'kind': 'current', 'torque_constant': 1.2 * constant, 'gear': gear,
                   'sought': ['torque_constant']}}, 'A',
            f'<motor joint="{{}}" gear="{constant * gear}"/>', controlled, 3,
            {'torque_constant': constant}),
        'gears': lambda: case(
            seconds, 'arm, gears', arm,
            {'*': {'kind': 'position_servo', 'kp': 60.0, 'kd': 2.0}}, 'rad',
            '<position joint="{}" kp="60" kv="2"/>', unchanged, 4,
            losses=(0.1, 0.2, 0.15, 0.2, 0.25, 0.1))}


def main():
    """Fit the robots that are asked for, all by default, and print their figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('parts', nargs='*')
    parser.add_argument('--seconds', type=float, default=15.0)
    given = parser.parse_args()
    parts = simulated(given.seconds) | {'go2': real}
    strange = [part for part in given.parts if part not in parts]
    if strange:
        parser.error(f'no part {strange[0]}; there are {", ".join(parts)}')
    print(json.dumps([row for part in given.parts or parts for row in parts[part]()]))


if __name__ == '__main__':
    main()
