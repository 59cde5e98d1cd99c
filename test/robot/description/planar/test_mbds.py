"""Files of MBDS: their expressions, and the mechanism that they make."""

from __future__ import annotations

import numpy as np
import pytest

from support import four_bar_reference as reference
from sysid_ros.errors import ConfigurationError, ModelError
from sysid_ros.estimation.trajectory.graph.mechanism_file import parse_mechanism
from sysid_ros.robot.description.planar.mechanism_file import mechanism_of_text

# The four-bar linkage as its authors write such files, with a third point on the coupler.
TEXT = """%YAML 1.2
---
parameters: {L: 1.0, xb: 4.0*L, twice: 2*L}
points:
  - {x: 0, y: 0, fixed: true}
  - {x: L*cos(deg2rad(0)), y: 0}
  - {x: L, y: twice}
  - {x: xb, y: 0, fixed: true}
planar_bodies:
  - {points: [0, 1], length: L, mass: 1.0, I0: (1/3)*mass*length^2, cog: [0.5*length, 0.0]}
  - {points: [1, 2], length: auto, mass: 2.0, I0: (1/3)*mass*length^2, cog: [0.5*length, 0.0]}
  - {points: [2, 3], length: auto, mass: 4.0, I0: (1/3)*mass*length^2, cog: [0.5*length, 0.0]}
relative_coordinates:
  - {type: RelativeAngleAbsoluteDOF, points: [0, 1]}
"""


def test_a_file_of_mbds_is_the_mechanism_that_the_other_yaml_describes():
    found = parse_mechanism(TEXT)
    wanted = parse_mechanism(reference.description(9.80665))
    assert found.coordinates == ('P1.x', 'P1.y', 'P2.x', 'P2.y', 'angle0')
    assert found.parameters.names[0] == 'body0.mass' and found.torques == ('angle0',)
    np.testing.assert_allclose(found.parameters.values, wanted.parameters.values, rtol=1e-15)
    np.testing.assert_allclose(found.assembly, wanted.assembly, atol=1e-15)


def test_bodies_of_three_points_have_the_lengths_between_any_two():
    text = TEXT.replace(
        '{points: [2, 3], length: auto, mass: 4.0, I0: (1/3)*mass*length^2',
        '{points: [2, 3, 1], mass: 4.0, I0: mass*length13^2 + length12*0 + length')
    body = mechanism_of_text(text, 'm', 'm').bodies['body2']
    assert body.inertia == pytest.approx(4.0 * 2.0**2 + np.sqrt(13.0))


@pytest.mark.parametrize(('change', 'error', 'words'), [
    (('twice: 2*L', 'twice: 2*LL'), ModelError, "parameters: twice.*found 'LL'.*Did you mean 'L'"),
    (('y: twice', 'y: twice*'), ModelError, 'points: 2: cannot be computed'),
    (('y: twice', 'y: "().__class__"'), ModelError, 'points: 2: cannot be computed.*no arithm'),
    (('length: L,', 'length: 1.1,'), ModelError, 'planar_bodies: 0: the length.*found 1.1; allow'),
    (('points: [2, 3], ', 'points: [2, 4], '), ModelError, 'no such point.*found 4; allowed 0 to'),
    (('mass: 4.0', 'mass: 1/0'), ModelError, 'planar_bodies: 2: mass: cannot be computed'),
    (('mass: 4.0', 'mass: -4.0'), ModelError, 'planar_bodies: 2: mass: is negative'),
    (('AngleAbsoluteDOF', 'DistanceDOF'), ModelError, 'no such kind of coordinate'),
    (('mass: 4.0', 'mas: 4.0'), ConfigurationError, "Did you mean 'mass'"),
])
def test_mistakes_are_said(change, error, words):
    with pytest.raises(error, match=words):
        mechanism_of_text(TEXT.replace(*change), 'mechanism', 'mechanism')
