r"""How nearly the motion made base parameters look alike.

Regressors are computed from measured motion, and are wrong by some parts in a thousand: a
direction that acts on the torques less than that shows the errors of the encoders, which no
interval covers. Measured on a seven-joint arm in ever smaller arcs, 200 Hz of 2 % torque noise,
coverage of 95 % intervals with encoders of 14 and of 16 bits: 96 and 96 % at condition numbers of
30; 88 and 94 % at 400; 76 and 95 % at 4e3; 88 and 79 % at 4e4; beyond, errors of many sigma.
Recordings of a Stäubli TX40 and a KUKA LWR4+ have 18 and 105, and the literature asks for 100
(Schröer 1993).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.numerics.decomposition import svd

#: Condition number above which people are warned.
WARNED = 1e3
#: The one above which least squares without a prior is refused.
REFUSED = 1e4

# Columns below this part of the largest act on no row, directions on none that rounding spares.
_ZERO_COLUMN = 1e-12
_RANK_TOLERANCE = 1e-9
# So many parameters that look alike are named, if they have this part of the largest share.
_ALIKE, _SHARES = 4, 0.3


@dataclass(frozen=True)
class Conditioning:
    """How well a motion tells base parameters apart, whatever the noise of its torques.

    Attributes:
        number: Condition number of the base regressor, with rows of each joint and columns
            brought to one size; directions without any effect are left out.
        alike: The base parameters that share most in the direction it tells least of.
        joint: The joint whose own terms these are alone, such as two of its frictions; empty
            where inertias or several joints are among them.
        singular_values: Singular values of that regressor, the largest first; where a direction
            has no effect its own is left out.
    """

    number: float
    alike: tuple[str, ...]
    joint: str = ''
    singular_values: tuple[float, ...] = ()

    @classmethod
    def of(cls, problem: RegressionProblem) -> Conditioning:
        """The conditioning of a problem's rows.

        Rows of a joint weigh by the inverse of the torque that the prior's steps make there.
        Weights by the noise would call well-conditioned motion ill where one joint is nearly
        free of noise.

        Args:
            problem: The problem.
        """
        own = problem.base.independent
        size = np.linalg.norm(problem.factors[:, :, :-1] @ problem.scale, axis=(1, 2))
        rows = problem.weighted(np.where(size > 0.0, size, 1.0))[0][:, own]
        size = np.linalg.norm(rows, axis=0)
        active = size > _ZERO_COLUMN * size.max(initial=0.0)
        if not active.any():
            return cls(1.0, ())
        _, values, directions = svd(rows[:, active] / size[active], full_matrices=False)
        last = np.flatnonzero(values > _RANK_TOLERANCE * values[0])[-1]
        share = np.abs(directions[last])
        order = np.argsort(-share, kind='stable')[:_ALIKE]
        names = [problem.base.names[k] for k in own[active]]
        alike = tuple(names[k] for k in order if share[k] > _SHARES * share.max())
        joints = {
            '' if problem.parameters.is_inertial(name) else name.rpartition('.')[0]
            for name in alike}
        return cls(
            float(values[0] / values[last]), alike, joints.pop() if len(joints) == 1 else '',
            tuple(values[:last + 1].tolist()))

    def notes(self) -> tuple[str, ...]:
        """A warning where the rows are ill-conditioned, else nothing.

        Of terms of one joint the sum is told, which is what acts: no reason to refuse them.
        """
        if self.number <= WARNED:
            return ()
        if self.joint and self.number <= REFUSED:
            return (
                f'{self.joint}: the motion tells the sum of {" and ".join(self.alike)}, but hardly '
                f'each (condition number {self.number:.2g}): their intervals may be too narrow.',)
        trust = (
            'intervals along it may be too narrow' if self.number <= REFUSED else
            'intervals along it are not to be trusted'
        )
        return (
            f'The data is ill-conditioned (condition number {self.number:.2g}, good below '
            f'{WARNED:.0e}): it hardly tells apart {" and ".join(self.alike)}; {trust}.',
        )


def require_conditioned(problem: RegressionProblem) -> None:
    """Refuse rows whose fit without a prior would show the errors of the encoders.

    Args:
        problem: The problem.

    Raises:
        EstimationError: The condition number, the largest allowed, and the parameters that
            the motion makes look alike.
    """
    conditioning = Conditioning.of(problem)
    if conditioning.number > REFUSED:
        raise EstimationError(
            f'the motion hardly tells apart {" and ".join(conditioning.alike)}',
            where=problem.provenance.get('source'),
            found=f'condition number {conditioning.number:.2g}',
            allowed=f'at most {REFUSED:.0e}',
            fix="Move the joints farther and faster, fix parameters, or fit with 'lmi' or "
            "'entropic', which fill in the prior",
        )
