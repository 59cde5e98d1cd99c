"""How the identified inertia of a moving body is shared among the links that make it up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sysid_ros.errors import ReleaseError
from sysid_ros.robot.inertia import (
    central_inertia,
    consistency_margin,
    inertial_parameters,
    is_consistent,
    pseudo_inertia,
    transform_inertial,
)
from sysid_ros.robot.links import LinkPlacement

# A remainder thinner than this part of the body is rounding, not a mass distribution.
_SMALLEST_REMAINDER = 1e-9
# Point masses and thin rods lie on the boundary of consistency: they may keep their values.
_BOUNDARY = 1e-9


@dataclass(frozen=True, eq=False)
class Inertial:
    """Numbers as an ``<inertial>`` holds them, in the axes of the link frame.

    Attributes:
        mass: Mass in [kg].
        com: Centre of mass in the link frame in [m], shape ``(3,)``.
        inertia: Inertia about the centre of mass in [kg·m²], shape ``(3, 3)``.
    """

    mass: float
    com: np.ndarray
    inertia: np.ndarray

    @property
    def parameters(self) -> np.ndarray:
        """Inertial parameters at the link origin, shape ``(10,)``."""
        return inertial_parameters(self.mass, self.com, self.inertia)

    def is_consistent(self) -> bool:
        """Whether these very numbers belong to a real body.

        Decided about the centre of mass: far from it the same question drowns in rounding.
        """
        return is_consistent(inertial_parameters(self.mass, np.zeros(3), self.inertia))


@dataclass(frozen=True, eq=False)
class BodyShares:
    """Inertial parameters of the links of one body.

    Attributes:
        first: Name and new numbers of the body's first link.
        removed: Links whose ``<inertial>`` is taken out.
        notes: What a user should know.
    """

    first: tuple[str, Inertial]
    removed: tuple[str, ...]
    notes: tuple[str, ...]


def share_body(
    links: Sequence[LinkPlacement], phi: np.ndarray, described: Mapping[str, bool],
) -> BodyShares:
    """Share the identified inertia of one body among its links.

    Links fixed to the first one keep their values and the first one gets the remainder; if
    no real body has that remainder, the first one gets all and the others none.

    Args:
        links: Links of the body, the first link first.
        phi: Inertial parameters of the body at its joint-frame origin, shape ``(10,)``.
        described: For links with an ``<inertial>``, whether it can be read.

    Returns:
        The shares.

    Raises:
        ReleaseError: The body, or what would be written for it, is physically inconsistent.
    """
    first, *others = links
    if not is_consistent(phi):
        raise _inconsistent(first.name, phi)
    present = [link for link in others if link.name in described]
    kept = [link for link in present if described[link.name] and _is_usable(link.inertial)]
    remainder = phi - sum((link.inertial for link in kept), np.zeros(10))
    notes = []
    heavy = [link for link in kept if link.inertial.any()]
    if heavy and consistency_margin(remainder, phi) <= _SMALLEST_REMAINDER:
        notes.append(
            f'body "{first.name}": link "{first.name}" gets all of it and {_listed(present)} '
            f'none, because no real body remains without {_listed(heavy)}'
        )
        kept, remainder, unusable = [], phi, []
    else:
        unusable = [link for link in present if link not in kept]
        if heavy:
            notes.append(
                f'body "{first.name}": described inertia is kept for {_listed(heavy)}, link '
                f'"{first.name}" gets the remainder'
            )
    if unusable:
        notes.append(
            f'body "{first.name}": the <inertial> of {_listed(unusable)} belongs to no real '
            f'body and is removed; link "{first.name}" gets its share'
        )
    removed = tuple(link.name for link in present if link not in kept)
    share = _in_link_frame(first, remainder)
    return BodyShares((first.name, share), removed, tuple(notes))


def _is_usable(phi: np.ndarray) -> bool:
    """Whether a described inertia is that of a real body, possibly a thin or massless one."""
    if phi[0] <= 0.0:
        return not phi.any()
    mass, _, inertia = central_inertia(phi)
    pseudo = pseudo_inertia(inertial_parameters(mass, np.zeros(3), inertia))[:3, :3]
    values = np.linalg.eigvalsh(pseudo)
    return bool(values[0] >= -_BOUNDARY * max(values[-1], np.abs(phi[4:]).max()))


def _in_link_frame(link: LinkPlacement, phi: np.ndarray) -> Inertial:
    local = transform_inertial(phi, np.linalg.inv(link.pose))
    mass, com, inertia = central_inertia(local)
    share = Inertial(mass, com, 0.5 * (inertia + inertia.T))
    if not share.is_consistent():
        raise _inconsistent(link.name, local)
    return share


def _inconsistent(link: str, phi: np.ndarray) -> ReleaseError:
    smallest = float(np.linalg.eigvalsh(pseudo_inertia(phi))[0])
    return ReleaseError(
        'the inertial parameters belong to no real body', where=f'link "{link}"',
        found=f'mass {phi[0]:.6g} kg, smallest eigenvalue of the pseudo-inertia {smallest:.3g}',
        allowed='a positive mass and a positive definite pseudo-inertia',
        fix='Use a physically consistent estimator',
    )


def _listed(links: Sequence[LinkPlacement]) -> str:
    return ', '.join(f'link "{link.name}"' for link in links)
