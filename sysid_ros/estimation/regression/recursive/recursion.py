r"""A recursion that runs: one estimate, moved on by every sample.

It has no threads, holds no samples, and allocates nothing that grows. The state can be written and
read back; what comes after is the same to the bit.
"""

from __future__ import annotations

import copy
import hashlib
import io

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.recursive.directional_forgetting import forget_directions
from sysid_ros.estimation.regression.recursive.kernels import advance, fold, iterate
from sysid_ros.estimation.regression.recursive.posterior import RecursivePosterior
from sysid_ros.estimation.regression.recursive.recursion_settings import RecursionSettings
from sysid_ros.estimation.regression.recursive.recursive_prior import curvature
from sysid_ros.estimation.regression.recursive.state import SKIPPED, Options, State, workspace_for
from sysid_ros.mechanics.regressor.sample_regressor import (
    fill_samples,
    sample_model,
    sample_workspace,
)
from sysid_ros.numerics.arrays import read_only

_FORMAT = 'sysid_ros recursion 3'
# Samples whose regressor is held at once.
_CHUNK = 64
# Iterations after which a minimum that was not found is given up.
_MOST = 200
# By which factor the prior becomes weaker from one minimum to the next, on the way to a far one.
_WEAKER = 10.0


class Recursion(RecursivePosterior):
    """The running state of a recursive estimator.

    Build one with
    :meth:`~sysid_ros.estimation.regression.recursive.recursive.RecursiveLeastSquares.start`.

    Args:
        settings: How steps are done.
        problem: Its model, parameters and prior; rows are not kept.
        noise: Torque noise per joint in [N·m] or [N], shape ``(n,)``.
    """

    def __init__(
        self, settings: RecursionSettings, problem: RegressionProblem, noise: np.ndarray
    ) -> None:
        super().__init__(settings, problem, noise)
        count, joints = len(self.free), len(self.noise)
        self._workspace = workspace_for(count, joints)
        exponential = settings.forgetting == 'exponential'
        self._options = Options(
            float(settings.prior_strength), settings.memory if exponential else 1.0,
            int(settings.max_iterations), float(settings.tolerance))
        self._samples = sample_model(problem.model)
        self._sample_workspace = None if self._samples is None else sample_workspace(self._samples)
        self._rows = np.zeros((_CHUNK, joints, len(problem.parameters)))
        self._rows_to_read = read_only(self._rows)
        self._sample = np.zeros((4, 1, joints))
        self._sample_to_read = tuple(read_only(x) for x in self._sample)
        self._all_usable = read_only(np.ones((_CHUNK, joints)), bool)
        self._one_usable = self._all_usable[:1]
        self._no_trace = np.zeros((0, count))

    # Taking in samples

    def step(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray) -> bool:
        """Recursive update with one sample.

        Args:
            q: Joint positions in [rad] or [m], shape ``(n,)``.
            v: Joint velocities, shape ``(n,)``.
            a: Joint accelerations, shape ``(n,)``.
            tau: Joint torques in [N·m] or [N], shape ``(n,)``.

        Returns:
            False for a sample that was skipped because it holds a value that is not finite.
        """
        sample, skipped = self._sample, self._state.counts[SKIPPED]
        sample[0, 0], sample[1, 0], sample[2, 0], sample[3, 0] = q, v, a, tau
        q, v, a, tau = self._sample_to_read
        rows = self._rows_of(q, v, a)
        self._advance(rows, tau, self._one_usable, self._no_trace)
        return bool(self._state.counts[SKIPPED] == skipped)

    def extend(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray,
        usable: np.ndarray | None = None, *, trace: bool = False,
    ) -> np.ndarray | None:
        """Recursive updates with samples, one step each; to the bit those of :meth:`step`.

        Args:
            q: Joint positions in [rad] or [m], shape ``(T, n)``.
            v: Joint velocities, shape ``(T, n)``.
            a: Joint accelerations, shape ``(T, n)``.
            tau: Joint torques in [N·m] or [N], shape ``(T, n)``.
            usable: True where a torque counts, shape ``(T, n)``; all by default.
            trace: Whether to return the estimates after each sample.

        Returns:
            The estimates, shape ``(T, p)``, when asked for.

        Raises:
            EstimationError: The arrays do not fit the robot.
        """
        q, v, a, tau = (read_only(x) for x in (q, v, a, tau))
        expected = (len(tau), len(self.noise))
        for name, array in (('q', q), ('v', v), ('a', a), ('tau', tau)):
            if array.shape != expected:
                raise EstimationError(
                    'the samples have the wrong shape', where=name, found=array.shape,
                    allowed=expected)
        estimates = np.empty((len(tau) if trace else 0, len(self.free)))
        for start in range(0, len(tau), _CHUNK):
            part = slice(start, start + _CHUNK)
            rows = self._rows_of(q[part], v[part], a[part])
            self._advance(rows, tau[part], self._usable_of(usable, part, tau), estimates[part])
        return self._whole(estimates) if trace else None

    def extend_rows(
        self, rows: np.ndarray, tau: np.ndarray, usable: np.ndarray | None = None, *,
        trace: bool = False,
    ) -> np.ndarray | None:
        """Recursive updates with rows of the regressor, one step for each sample.

        Args:
            rows: Shape ``(T, n, p)``.
            tau: Joint torques in [N·m] or [N], shape ``(T, n)``.
            usable: True where a row counts, shape ``(T, n)``; all by default.
            trace: Whether to return the estimates after each sample.

        Returns:
            The estimates, shape ``(T, p)``, when asked for.

        Raises:
            EstimationError: The rows do not fit the model.
        """
        shape = (len(tau), len(self.noise), len(self.prior_parameters))
        if rows.shape != shape or tau.shape != shape[:2]:
            raise EstimationError(
                'the rows do not fit the model', found=f'{rows.shape} and {tau.shape}',
                allowed=f'{shape} and {shape[:2]}')
        estimates = np.empty((len(tau) if trace else 0, len(self.free)))
        for start in range(0, len(tau), _CHUNK):
            part = slice(start, start + _CHUNK)
            self._advance(
                read_only(rows[part]), read_only(tau[part]),
                self._usable_of(usable, part, tau), estimates[part])
        return self._whole(estimates) if trace else None

    def _rows_of(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Regressor of at most ``_CHUNK`` samples, of which a longer array is part."""
        if self._samples is not None:
            fill_samples(self._samples, self._sample_workspace, q, v, a, self._rows)
            return self._rows_to_read
        # One by one, so that a sample does not depend on what comes with it.
        return read_only(np.concatenate([
            self.model.regressor(q[k:k + 1], v[k:k + 1], a[k:k + 1]) for k in range(len(q))]))

    def _usable_of(
        self, usable: np.ndarray | None, part: slice, tau: np.ndarray
    ) -> np.ndarray:
        if usable is None:
            return self._all_usable[:len(tau[part])]
        if usable.shape != tau.shape:
            raise EstimationError(
                'usable does not fit the torque', found=usable.shape, allowed=tau.shape)
        return read_only(usable[part], bool)

    def _advance(
        self, rows: np.ndarray, tau: np.ndarray, usable: np.ndarray, trace: np.ndarray
    ) -> None:
        """Steps for at most ``_CHUNK`` samples."""
        directional = self.settings.forgetting == 'directional'
        if not directional and self.settings.strength == 'constant':
            self._run(self._options, rows, tau, usable, trace)
            return
        for t in range(len(tau)):
            one, options = slice(t, t + 1), self._options
            if directional and np.isfinite(rows[t][usable[t]]).all() and (
                    np.isfinite(tau[t][usable[t]]).all()):
                fold(self._state)
                forget_directions(
                    self._state, self._workspace, self._columns, rows[t], usable[t],
                    self.settings.memory)
            if self.settings.strength == 'balanced':
                options = options._replace(strength=self._balanced(rows[t], usable[t]))
            self._run(options, rows[one], tau[one], usable[one], trace[one])

    def _run(
        self, options: Options, rows: np.ndarray, tau: np.ndarray, usable: np.ndarray,
        trace: np.ndarray,
    ) -> None:
        advance(
            self._prior, self._state, self._workspace, options, self._columns, self.fixed,
            self.weights, rows, tau, usable, trace if len(trace) else self._no_trace)

    def _balanced(self, rows: np.ndarray, usable: np.ndarray) -> float:
        r"""The strength :math:`\alpha_{sf}\,\mathrm{tr}(\Omega_k [\nabla^2 R]^{-1})`."""
        seen = rows[usable][:, self.free]
        information = self.information + seen.T @ (self.weights[usable, None] * seen)
        hessian = curvature(self.prior, self.theta[self.free])
        trace = float(np.sum(information * np.linalg.inv(hessian)))
        return self.settings.prior_strength * trace

    def converge(self) -> bool:
        """Iterate to the minimum for the samples so far; True when it was found."""
        strength = self.strength
        if self._minimise(strength):
            return True
        # Too near to a boundary to get away from it: once more, from the midst, along the minima
        # of ever weaker priors, the first as heavy as all samples together.
        self._state.theta[:] = self._prior.reference
        hessian = curvature(self.prior, self.theta[self.free])
        heavy = float(np.sum(self.information * np.linalg.inv(hessian)))
        steps = max(int(np.ceil(np.log(heavy / strength) / np.log(_WEAKER))), 1)
        for step in range(steps, 0, -1):
            self._minimise(strength * _WEAKER**step)
        return self._minimise(strength)

    def _minimise(self, strength: float) -> bool:
        """Newton iterations for the samples so far; whether they reached the minimum."""
        options = self._options._replace(strength=strength)
        return iterate(self._prior, self._state, self._workspace, options, _MOST)

    # Stopping and going on

    def copy(self) -> Recursion:
        """Another recursion in the same state."""
        return self.restored(self.to_bytes())

    @property
    def _key(self) -> str:
        """What a state belongs to: settings, parameters, divergence and weights."""
        digest = hashlib.sha256(repr((_FORMAT, self.settings)).encode())
        digest.update('\n'.join(self.prior_parameters.names).encode())
        for array in (*self.prior, self.free, self.fixed, self.weights):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def to_bytes(self) -> bytes:
        """The state, to be kept and given to :meth:`restored` later."""
        file = io.BytesIO()
        np.savez(file, key=np.array(self._key), **self._state._asdict())
        return file.getvalue()

    def restored(self, state: bytes) -> Recursion:
        """A recursion of the same settings that goes on from a kept state, bit for bit.

        Args:
            state: What :meth:`to_bytes` gave.

        Raises:
            EstimationError: The state is damaged, or belongs to other settings.
        """
        try:
            with np.load(io.BytesIO(state), allow_pickle=False) as saved:
                key = str(saved['key'])
                arrays = [np.ascontiguousarray(saved[name]) for name in State._fields]
        except Exception as error:  # a damaged archive fails in many ways
            raise EstimationError(f'the state cannot be read: {error!r}') from error
        if key != self._key:
            raise EstimationError(
                'the state belongs to another robot or other settings', found=key[:12],
                allowed=self._key[:12], fix='Start anew')
        for name, array, own in zip(State._fields, arrays, self._state, strict=True):
            # What is compiled does not look where arrays end.
            if (array.shape, array.dtype) != (own.shape, own.dtype):
                raise EstimationError(
                    'the state cannot be read', where=name, found=f'{array.dtype} {array.shape}',
                    allowed=f'{own.dtype} {own.shape}', fix='Start anew')
        other = copy.copy(self)
        other._state = State(*arrays)
        other._workspace = workspace_for(len(self.free), len(self.noise))
        other._rows, other._sample = self._rows.copy(), self._sample.copy()
        other._rows_to_read = read_only(other._rows)
        other._sample_to_read = tuple(read_only(x) for x in other._sample)
        if self._samples is not None:
            other._sample_workspace = sample_workspace(self._samples)
        return other
