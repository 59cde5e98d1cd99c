"""The joint terms there are, one line each; a new one is a file of this folder and a line here.

What the rest of the package asks about joint terms in general comes from these lines: keys of
settings, names in descriptions, which parameters are friction, and the laws of compiled kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from sysid_ros.mechanics.joint_terms.armature import Armature
from sysid_ros.mechanics.joint_terms.asymmetric import AsymmetricCoulombFriction
from sysid_ros.mechanics.joint_terms.coulomb import CoulombFriction, SmoothCoulombFriction
from sysid_ros.mechanics.joint_terms.coupled_axis import CoupledAxis
from sysid_ros.mechanics.joint_terms.drive_gain import DriveGain
from sysid_ros.mechanics.joint_terms.load_friction import LoadFriction
from sysid_ros.mechanics.joint_terms.offset import TorqueOffset
from sysid_ros.mechanics.joint_terms.power import PowerLawFriction
from sysid_ros.mechanics.joint_terms.stiffness import Stiffness
from sysid_ros.mechanics.joint_terms.stribeck import StribeckFriction
from sysid_ros.mechanics.joint_terms.term import DescribedTerm, JointTerm
from sysid_ros.mechanics.joint_terms.viscous import ViscousFriction

# In the order of their columns.
_TERMS: tuple[type[DescribedTerm], ...] = (
    ViscousFriction,
    CoulombFriction,
    AsymmetricCoulombFriction,
    SmoothCoulombFriction,
    StribeckFriction,
    TorqueOffset,
    Armature,
    Stiffness,
    CoupledAxis,
    PowerLawFriction,
    LoadFriction,
    DriveGain,
)
_added: list[type[DescribedTerm]] = []


def joint_terms() -> tuple[type[DescribedTerm], ...]:
    """All joint terms, in the order of their columns."""
    return (*_TERMS, *_added)


@contextmanager
def registered(term: type[DescribedTerm]) -> Iterator[None]:
    """Let a term of another program be one of the joint terms for a while.

    Compiled kernels call its laws by their address, those of this package directly.

    Args:
        term: The term.
    """
    _added.append(term)
    try:
        yield
    finally:
        _added.remove(term)


def in_registered_order(terms: Iterable[JointTerm]) -> tuple[JointTerm, ...]:
    """Terms in the order of their columns; what is not registered comes last.

    Args:
        terms: The terms.
    """
    order: list[type] = [*joint_terms()]
    return tuple(sorted(
        terms, key=lambda term: order.index(type(term)) if type(term) in order else len(order)))


def names_in(document: str) -> dict[str, str]:
    """Names of joint parameters in a robot description, by field.

    Args:
        document: ``'urdf'``, ``'mjcf'``, or ``'described'`` for the attribute of a joint as this
            package reads it from either.
    """
    return {
        field: name for term in joint_terms() if (name := getattr(term, document))
        for field in term.fields}


def friction_fields() -> tuple[str, ...]:
    """Amplitudes of friction, whatever its law."""
    return tuple(dict.fromkeys(
        field for term in joint_terms() if term.friction for field in term.fields))


def shape_fields() -> tuple[str, ...]:
    """Shapes of friction laws."""
    return tuple(dict.fromkeys(
        field for term in joint_terms() if term.friction for field in term.shape_fields))


def friction_keys() -> frozenset[str]:
    """Keys of the ``robot: terms:`` section that say what friction joints have."""
    return frozenset(key for term in joint_terms() if term.friction for key in term.keys)
