r"""Planar mechanisms in natural coordinates: points, and angles where they are wanted.

Points of bodies are the coordinates, so the mass matrix is constant and there are no Coriolis
forces (García de Jalón and Bayo 1994). A body has mass m, first moments and the moment of inertia
about its first point, in axes along its first two points; the dynamics are linear in these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.linalg

from sysid_ros.errors import EstimationError, ModelError
from sysid_ros.estimation.trajectory.graph.mechanism import Constrained, Response
from sysid_ros.estimation.trajectory.graph.planar_arrays import (
    ANGLE,
    ConstraintArrays,
    ForceArrays,
)
from sysid_ros.estimation.trajectory.graph.planar_constraints import constrain
from sysid_ros.estimation.trajectory.graph.planar_forces import fill_inertia
from sysid_ros.estimation.trajectory.graph.planar_response import respond
from sysid_ros.robot.parameters import ParameterSet

# Singular values below this part of the largest say that a constraint repeats others.
_REPEATED = 1e-8
# Constraints may be open by this in [m] or [rad] after so many steps of Newton's method.
_CLOSED, _MOST_STEPS = 1e-12, 50
# Longest step along a line to a configuration in [m] or [rad]; shorter ones than this are lost.
_STRIDE, _SHORTEST = 0.1, 1e-4
# Two configurations are one if no coordinate differs by more.
_SAME = 1e-6


@dataclass(frozen=True, eq=False)
class PlanarMechanism:
    """A planar mechanism; see the module, and ``mechanism_file`` for how one is read.

    Attributes:
        name: Name in reports and messages.
        coordinates: Names of the n coordinates.
        constraints: Names of the m constraints.
        torques: Names of the coordinates that motors drive.
        parameters: Its p parameters: four of each body, then friction, springs and the like.
        assembly: A configuration that fulfils all constraints, shape ``(n,)``.
        loops: Its constraints for what is compiled.
        forces: Its bodies and forces for what is compiled.
        points: Coordinates of every point, -1 where it is fixed, and where it is assembled.
        rods: Bodies of two points that no angle is measured of, by these: which body each is,
            and which constraint its length.
        chosen: Coordinates that are to be the independent ones; chosen here where empty.

    Raises:
        ModelError: The chosen coordinates do not determine all others.
    """

    name: str
    coordinates: tuple[str, ...]
    constraints: tuple[str, ...]
    torques: tuple[str, ...]
    parameters: ParameterSet
    assembly: np.ndarray
    loops: ConstraintArrays
    forces: ForceArrays
    points: Mapping[str, tuple[tuple[int, int], tuple[float, float]]]
    rods: Mapping[tuple[str, str], tuple[int, int]]
    chosen: Sequence[str] = ()
    _still: np.ndarray = field(init=False, repr=False)
    _inertia: list[np.ndarray] = field(init=False, repr=False, default_factory=list)

    def __post_init__(self) -> None:
        for array in (self.assembly, *self.loops, *self.forces[:-1], *self.forces.laws):
            array.setflags(write=False)
        object.__setattr__(self, '_still', np.zeros((1, len(self.coordinates))))
        _ = self.independent

    @cached_property
    def _jacobian(self) -> np.ndarray:
        return self.constrained(self.assembly[None], self._still, self._still).jacobian[0]

    @cached_property
    def rank(self) -> int:
        """How many constraints are independent."""
        values = np.linalg.svd(self._jacobian, compute_uv=False)
        return int(np.sum(values > _REPEATED * values[0])) if len(values) else 0

    @cached_property
    def independent(self) -> np.ndarray:
        """Indices of the f coordinates that determine all others, shape ``(f,)``."""
        n, free = len(self.coordinates), len(self.coordinates) - self.rank
        if not self.chosen:
            # What constraints determine best is dependent; angles are preferred where they do.
            pivots = scipy.linalg.qr(self._jacobian, mode='r', pivoting=True)[1]
            return np.sort(pivots[self.rank:])
        index = np.array([self.coordinates.index(name) for name in self.chosen])
        rest = np.setdiff1d(np.arange(n), index)
        values = np.linalg.svd(self._jacobian[:, rest], compute_uv=False)
        if len(index) != free or values[self.rank - 1] <= _REPEATED * values[0]:
            raise ModelError(
                'the independent coordinates do not determine all others', where=self.name,
                found=', '.join(self.chosen), allowed=f'{free} coordinates that do',
                fix='Leave them out to have them chosen')
        return index

    def constrained(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Constrained:
        """Constraints at motions; see :class:`~.mechanism.Mechanism`."""
        shape = (len(q), len(self.constraints))
        wide = (*shape, len(self.coordinates))
        found = Constrained(
            np.empty(shape), np.empty(wide), np.empty(wide), np.empty(shape), np.empty(wide))
        constrain(self.loops, q, v, a, *found)
        return found

    def response(
        self, values: np.ndarray, q: np.ndarray, v: np.ndarray, torque: np.ndarray,
        columns: np.ndarray,
    ) -> Response:
        """How torques accelerate it; see :class:`~.mechanism.Mechanism`."""
        n, size = len(self.coordinates), len(self.coordinates) + len(self.constraints)
        wanted = len(values) if columns.shape[1] else 0
        found = Response(
            np.empty((len(q), size)), np.empty((len(q), size, n)), np.empty((len(q), size, n)),
            np.empty((len(q), size, len(self.torques))), np.empty((len(q), size, wanted)))
        failed = respond(
            self.loops, self.forces, n + self.rank, values, *self.inertia(values), q, v,
            torque, *found)
        if failed >= 0:
            raise EstimationError(
                'the mechanism is at a dead point, or has no mass where it moves',
                where=f'{self.name}: sample {failed}', found=np.round(q[failed], 6).tolist(),
                fix='Keep the motion away from dead points')
        if not wanted:
            return found
        return found._replace(by_parameters=found.by_parameters @ columns)

    def inertia(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mass matrix ``(n, n)`` and weight ``(n,)`` for parameters ``(p,)``; the last are kept."""
        if not self._inertia or not np.array_equal(self._inertia[0], values):
            n = len(self.coordinates)
            mass, rest = np.empty((n, n)), np.empty(n)
            fill_inertia(self.forces, values, mass, rest)
            self._inertia[:] = values.copy(), mass, rest
        return self._inertia[1], self._inertia[2]

    def configuration(self, independent: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
        """The configuration that is reached when the independent coordinates are moved.

        It is followed along a straight line, so that it is on the branch of where it starts.

        Args:
            independent: Where these are to be, shape ``(f,)``.
            start: Where to start, shape ``(n,)``; by default the assembly.

        Returns:
            Shape ``(n,)``.

        Raises:
            EstimationError: It cannot be reached.
        """
        q = np.array(self.assembly if start is None else start, dtype=float)
        stride = _STRIDE
        while True:
            left = independent - q[self.independent]
            far = float(np.max(np.abs(left), initial=0.0))
            part = left if far <= stride else left * (stride / far)
            found = self._closed(q, q[self.independent] + part)
            if found is None:
                stride = 0.5 * min(stride, far)
                if stride < _SHORTEST:
                    raise EstimationError(
                        'the configuration cannot be reached on this branch', where=self.name,
                        found=np.round(independent, 6).tolist(),
                        allowed=f'up to {np.round(q[self.independent], 6).tolist()}',
                        fix='Keep within reach, and away from dead points')
            elif far <= stride:
                return found
            else:
                q = found

    def branches(
        self, independent: np.ndarray, *, seed: int = 0, attempts: int = 100
    ) -> np.ndarray:
        """Ways to assemble the mechanism with the independent coordinates somewhere.

        Which one a motion is on is a matter of where it begins: it cannot change on its way but
        at a dead point, where graphs refuse to go on.

        Args:
            independent: Where these are, shape ``(f,)``.
            seed: Seed of the random configurations that the search begins at.
            attempts: How many there are.

        Returns:
            Configurations, shape ``(k, n)``, in no order; angles within half a turn of zero but
            for independent ones.
        """
        random = np.random.default_rng(seed)
        found: list[np.ndarray] = []
        angles = np.zeros(len(self.coordinates), dtype=bool)
        angles[self._angle_rows()[1]] = True
        angles[self.independent] = False
        centre = self.assembly
        size = 2.0 * max(1.0, float(np.abs(centre).max()))
        for _ in range(attempts):
            begin = centre + random.uniform(-size, size, len(centre))
            q = self._closed(begin, independent, jumping=True)
            if q is None or self._turned_round(q):
                continue
            q[angles] = np.angle(np.exp(1j * q[angles]))
            if all(np.abs(q - other).max() > _SAME for other in found):
                found.append(q)
        return np.reshape(found, (-1, len(centre)))

    def _turned_round(self, q: np.ndarray) -> bool:
        """Whether an angle is half a turn from where its equation has it, which fulfils it too."""
        jacobian = self.constrained(q[None], self._still, self._still).jacobian[0]
        return bool((jacobian[self._angle_rows()] > 0.0).any())

    def _angle_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The constraints that define angles, and the coordinates that these are."""
        rows = np.flatnonzero(self.loops.kind == ANGLE)
        return rows, self.loops.slot[rows, 0]

    def _closed(
        self, q: np.ndarray, independent: np.ndarray, *, jumping: bool = False
    ) -> np.ndarray | None:
        """Newton's method with independent coordinates held; None where it strays."""
        rest = np.setdiff1d(np.arange(len(q)), self.independent)
        q, before = q.copy(), q[rest]
        q[self.independent] = independent
        for _ in range(_MOST_STEPS):
            here = self.constrained(q[None], self._still, self._still)
            if np.max(np.abs(here.gap), initial=0.0) <= _CLOSED:
                # A jump that is much longer than the way of the others leads to another branch.
                jumped = np.max(np.abs(q[rest] - before), initial=0.0) > 10.0 * _STRIDE
                return None if jumped and not jumping else q
            q[rest] -= np.linalg.lstsq(here.jacobian[0][:, rest], here.gap[0], _REPEATED)[0]
        return None
