"""Random, valid robot descriptions for property tests."""

from __future__ import annotations

import numpy as np


def random_inertial(rng: np.random.Generator, decades: float = 0.0) -> str:
    """An ``<inertial>`` of eight random point masses: consistent by construction.

    Args:
        rng: Random numbers.
        decades: Over how many decades the mass is spread.
    """
    masses = rng.uniform(0.1, 1.0, 8)
    if decades:
        masses *= 10.0 ** rng.uniform(-0.5 * decades, 0.5 * decades)
    points = rng.uniform(-0.3, 0.3, (8, 3))
    com = masses @ points / masses.sum()
    relative = points - com
    second = (masses[:, None] * relative).T @ relative
    inertia = np.trace(second) * np.eye(3) - second
    rpy = rng.uniform(-1.0, 1.0, 3)
    entries = ' '.join(
        f'i{"xyz"[a]}{"xyz"[b]}="{float(inertia[a, b])!r}"'
        for a in range(3) for b in range(a, 3)
    )
    return (
        f'<inertial><origin xyz="{_vector(com)}" rpy="{_vector(rpy)}"/>'
        f'<mass value="{float(masses.sum())!r}"/><inertia {entries}/></inertial>'
    )


def _vector(values: np.ndarray) -> str:
    return ' '.join(repr(float(value)) for value in values)


def random_urdf(
    seed: int, joints: int, *, fixed_fraction: float = 0.3, bare_frames: bool = False,
    mass_decades: float = 0.0,
) -> str:
    """A random tree: link0 is the base, joint k carries link k.

    Args:
        seed: Of the random numbers.
        joints: How many joints; joint1 always moves.
        fixed_fraction: Share of the other joints that are fixed.
        bare_frames: Whether fixed links may lack an ``<inertial>``.
        mass_decades: Over how many decades masses are spread.
    """
    rng = np.random.default_rng(seed)
    parts = ['<link name="link0"/>']
    for k in range(1, joints + 1):
        kind = str(rng.choice(['revolute', 'continuous', 'prismatic']))
        fixed = k > 1 and rng.random() < fixed_fraction
        kind = 'fixed' if fixed else kind
        bare = fixed and bare_frames and rng.random() < 0.5
        inertial = '' if bare else random_inertial(rng, mass_decades)
        parts.append(f'<link name="link{k}">{inertial}</link>')
        axis = rng.normal(size=3)
        moving = (
            f'<axis xyz="{_vector(axis / np.linalg.norm(axis))}"/>'
            '<limit lower="-1.5" upper="2.0" effort="10.0" velocity="3.0"/>'
            '<dynamics damping="0.5" friction="0.25"/>'
        )
        parts.append(
            f'<joint name="joint{k}" type="{kind}">'
            f'<origin xyz="{_vector(rng.uniform(-1, 1, 3))}" '
            f'rpy="{_vector(rng.uniform(-3, 3, 3))}"/>'
            f'<parent link="link{rng.integers(0, k)}"/><child link="link{k}"/>'
            f'{"" if fixed else moving}</joint>'
        )
    return f'<robot name="random">{"".join(parts)}</robot>'


def random_mjcf(seed: int, bodies: int) -> str:
    """A random MJCF: several trees, joints in a row, classes, frames, every way to say a pose.

    Args:
        seed: Of the random numbers.
        bodies: How many; each hangs on an earlier one, on a frame in it, or on the world.
    """
    rng = np.random.default_rng(seed)
    degrees = rng.random() < 0.5
    texts: list[list[str]] = [[] for _ in range(bodies + 1)]
    count = 0
    for k in range(bodies, 0, -1):
        joints = int(rng.choice([0, 1, 1, 1, 2, 3])) if k > 1 else 1
        parts = [_random_joint(rng, f'joint{count + n}', degrees) for n in range(joints)]
        count += joints
        inner = ''.join(parts) + _random_mass(rng, degrees) + ''.join(texts[k])
        own_class = rng.choice(['', ' childclass="strong"'])
        body = f'<body name="body{k}"{own_class} {_random_pose(rng, degrees)}>{inner}</body>'
        if rng.random() < 0.2:
            body = f'<frame {_random_pose(rng, degrees)}>{body}</frame>'
        texts[int(rng.integers(0, k))].append(body)
    sequence = ''.join(rng.choice(list('xyzXYZ'), 3))
    unit = 'degree' if degrees else 'radian'
    return (
        f'<mujoco model="random"><compiler angle="{unit}" eulerseq="{sequence}"/>'
        f'<option gravity="{_vector(rng.uniform(-9, 9, 3))}"/>'
        '<default><joint damping="0.3" armature="0.01"/><geom density="700"/>'
        '<default class="strong"><joint armature="0.2" axis="0 1 0" stiffness="3"/>'
        '<geom type="box" size="0.1 0.2 0.3"/></default></default>'
        f'<worldbody>{"".join(texts[0])}</worldbody></mujoco>'
    )


def _random_pose(rng: np.random.Generator, degrees: bool) -> str:
    angle = 180.0 / np.pi if degrees else 1.0
    three = rng.normal(size=3)
    notation = str(rng.choice(['', 'quat', 'axisangle', 'xyaxes', 'zaxis', 'euler']))
    values = {
        '': None, 'quat': rng.normal(size=4), 'axisangle': np.append(three, angle * three[0]),
        'xyaxes': rng.normal(size=6), 'zaxis': three, 'euler': angle * three,
    }[notation]
    turned = '' if values is None else f' {notation}="{_vector(values)}"'
    return f'pos="{_vector(rng.uniform(-0.5, 0.5, 3))}"{turned}'


def _random_joint(rng: np.random.Generator, name: str, degrees: bool) -> str:
    kind = str(rng.choice(['hinge', 'hinge', 'slide']))
    extra = {
        'pos': _vector(rng.uniform(-0.3, 0.3, 3)), 'axis': _vector(rng.normal(size=3)),
        'ref': repr(float(rng.normal() * (30.0 if degrees and kind == 'hinge' else 1.0))),
        'class': 'strong', 'damping': '0.7', 'frictionloss': '0.4', 'armature': '0.05',
        'springref': repr(float(rng.normal())), 'stiffness': '2.5', 'range': '-1.5 2',
    }
    chosen = [f'{key}="{value}"' for key, value in extra.items() if rng.random() < 0.5]
    return f'<joint name="{name}" type="{kind}" {" ".join(chosen)}/>'


def _random_mass(rng: np.random.Generator, degrees: bool) -> str:
    """An ``<inertial>``, or geoms of every solid shape."""
    if rng.random() < 0.4:
        points = rng.uniform(-0.3, 0.3, (6, 3))
        second = points.T @ points
        inertia = np.trace(second) * np.eye(3) - second
        if rng.random() < 0.5:
            entries = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
            words = f'pos="{_vector(rng.normal(size=3))}" fullinertia="{_vector(entries)}"'
        else:
            moments = np.linalg.eigvalsh(inertia)
            words = f'{_random_pose(rng, degrees)} diaginertia="{_vector(moments)}"'
        return f'<inertial mass="{rng.uniform(0.5, 3.0)!r}" {words}/>'
    geoms = []
    for _ in range(rng.integers(1, 4)):
        kind = str(rng.choice(['sphere', 'capsule', 'cylinder', 'ellipsoid', 'box']))
        pose = _random_pose(rng, degrees)
        if kind != 'sphere' and rng.random() < 0.4:
            pose = f'fromto="{_vector(rng.uniform(-0.3, 0.3, 6))}"'
        mass = rng.choice(['', 'mass="1.3"', 'density="400"', 'group="3"'])
        size = _vector(rng.uniform(0.05, 0.2, 3))
        geoms.append(f'<geom type="{kind}" size="{size}" {pose} {mass}/>')
    return ''.join(geoms)


def gripper_urdf() -> str:
    """Two independent joints, roll and grip; slide follows grip, and curl follows slide."""
    link = (
        '<link name="{}"><inertial><origin xyz="0.1 0.02 -0.1" rpy="0.3 -0.2 0.1"/>'
        '<mass value="2"/><inertia ixx="0.03" ixy="0.001" ixz="0.002" iyy="0.02" iyz="0.003" '
        'izz="0.025"/></inertial></link>'
    )
    joint = (
        '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/><axis xyz="{}"/>'
        '<origin xyz="0.1 0.2 0.3" rpy="0.4 0 0.2"/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/>{}</joint>'
    )
    return (
        '<robot name="gripper"><link name="base"/>'
        + ''.join(link.format(name) for name in ('palm', 'left', 'right', 'tip'))
        + joint.format('slide', 'prismatic', 'palm', 'right', '1 0 0',
                       '<mimic joint="grip" multiplier="-0.5" offset="0.1"/>')
        + joint.format('roll', 'continuous', 'base', 'palm', '0 0 1', '')
        + joint.format('grip', 'revolute', 'palm', 'left', '0 1 0', '')
        + joint.format('curl', 'revolute', 'right', 'tip', '1 1 0',
                       '<mimic joint="slide" multiplier="3"/>') + '</robot>'
    )
