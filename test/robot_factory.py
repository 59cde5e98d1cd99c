"""Random, valid robot descriptions for property tests."""

from __future__ import annotations

import numpy as np


def random_inertial(rng: np.random.Generator) -> str:
    """An ``<inertial>`` of eight random point masses: consistent by construction."""
    masses = rng.uniform(0.1, 1.0, 8)
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
    seed: int, joints: int, *, fixed_fraction: float = 0.3, bare_frames: bool = False
) -> str:
    """A random tree: link0 is the base, joint k carries link k.

    Args:
        seed: Of the random numbers.
        joints: How many joints; joint1 always moves.
        fixed_fraction: Share of the other joints that are fixed.
        bare_frames: Whether fixed links may lack an ``<inertial>``.
    """
    rng = np.random.default_rng(seed)
    parts = ['<link name="link0"/>']
    for k in range(1, joints + 1):
        kind = str(rng.choice(['revolute', 'continuous', 'prismatic']))
        fixed = k > 1 and rng.random() < fixed_fraction
        kind = 'fixed' if fixed else kind
        inertial = '' if fixed and bare_frames and rng.random() < 0.5 else random_inertial(rng)
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
