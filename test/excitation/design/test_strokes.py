"""Motions for drives: triangles, cruises and lifts are what they are called, and keep limits."""

from __future__ import annotations

import numpy as np
import pytest

from support.golden_problems import arm_urdf
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.errors import ConfigurationError
from sysid_ros.excitation.configuration import ExcitationPlan, MotionSettings
from sysid_ros.excitation.design.strokes import CruiseBasis, LiftAndDropBasis, TriangleBasis
from sysid_ros.excitation.files import load_excitation
from sysid_ros.settings import parse_settings

SETTINGS = """\
robot:
  urdf: arm.urdf
  actuators: {'*': {kind: position_servo, kp: 40.0, kd: 1.0}}
motion: {family: %s}
design: {starts: 1, iterations: 4}
"""


def moved(basis, rate=2000.0):
    """Times, and position, velocity and further derivatives of the first function."""
    t = np.linspace(0.0, basis.duration, round(basis.duration * rate) + 1)
    return t, basis.sample(t)[:, :, 1]


def turns(motion):
    """Rows where the direction changes, standstill left out."""
    moving = np.flatnonzero(np.abs(motion[1]) > 1e-6 * np.abs(motion[1]).max())
    return moving[np.flatnonzero(np.diff(np.sign(motion[1, moving])))]


def test_triangles_keep_their_speed_while_their_frequency_rises():
    basis = TriangleBasis(20.0, 0.2, 1.0)
    t, motion = moved(basis)
    corners = t[turns(motion)]
    # As many half periods as the mean frequency has in that time.
    assert len(corners) == 2 * 0.6 * 20.0 - 1
    frequency = 0.5 / np.diff(corners)
    middle = 0.5 * (corners[1:] + corners[:-1])
    np.testing.assert_allclose(frequency, 0.2 + 0.8 * middle / 20.0, rtol=0.01)
    top = [np.abs(motion[1, a:b]).max() for a, b in zip(
        turns(motion)[:-1], turns(motion)[1:], strict=True)]
    assert np.ptp(top) < 0.05 * max(top)


def test_half_of_each_side_of_a_triangle_is_as_fast_as_it_gets():
    motion = moved(TriangleBasis(10.0))[1]
    first, second = turns(motion)[:2]
    speed = np.abs(motion[1, first:second])
    assert np.mean(speed > 0.999 * speed.max()) == pytest.approx(0.5, abs=0.05)


def test_triangles_come_backwards_in_time_as_well():
    functions = TriangleBasis(10.0).sample(np.linspace(0.0, 10.0, 501))[0]
    np.testing.assert_allclose(functions[::-1, 2], functions[:, 1], atol=1e-9)


def test_cruises_go_the_same_way_there_and_back_at_the_speeds_that_are_given():
    speeds = (0.25, 1.0, 0.5)
    motion = moved(CruiseBasis(30.0, speeds))[1]
    edges = turns(motion)
    ways = [motion[:, a:b] for a, b in zip(edges[:-1], edges[1:], strict=True)]
    assert len(ways) == 2 * len(speeds)
    fastest = max(np.abs(way[1]).max() for way in ways)
    for k, speed in enumerate(speeds):
        there, back = ways[2 * k], ways[2 * k + 1]
        for way in (there, back):
            assert np.abs(way[1]).max() == pytest.approx(speed * fastest, rel=1e-6)
            assert np.ptp(way[0]) == pytest.approx(2.0, rel=1e-3)
            assert np.mean(np.abs(way[2]) < 1e-9) == pytest.approx(0.5, abs=0.02)
        assert there[1].mean() > 0.0 > back[1].mean()


def test_lifts_are_slow_held_and_dropped_fast_to_both_sides_ever_farther():
    t, motion = moved(LiftAndDropBasis(27.0, 2, 0.25))
    still = np.abs(motion[1]) < 1e-9
    held = np.unique(motion[0, still].round(6))
    np.testing.assert_allclose(held, [-1.0, -0.5, 0.0, 0.5, 1.0])
    away = motion[0] * motion[1] > 0.0
    fastest = {
        level: [np.abs(motion[1, part & (np.abs(motion[0]) <= level)]).max()
                for part in (away, ~away)] for level in (1.0,)}
    assert fastest[1.0][1] == pytest.approx(4.0 * fastest[1.0][0], rel=1e-6)
    # A fourth of the lifts, the drops; holds as long as the lifts in all.
    assert np.mean(away) == pytest.approx(1.0 / 2.25, abs=0.02)
    assert t[still].size > 0.4 * t.size


@pytest.mark.parametrize(('make', 'words'), [
    (lambda: TriangleBasis(1.0), r'no time for one triangle.*motion: \{family: triangle, duration'),
    (lambda: TriangleBasis(1e9), 'too many'),
    (lambda: TriangleBasis(9.0, 1.0, 0.5), r'cannot be swept.*lowest: 0.1'),
    (lambda: CruiseBasis(9.0, ()), r'cannot be cruised at.*motion: \{family: cruise'),
    (lambda: CruiseBasis(9.0, (1.0, 0.0)), 'cannot be cruised at'),
    (lambda: CruiseBasis(0.0), 'the duration cannot be used'),
    (lambda: LiftAndDropBasis(9.0, 0), r'cannot be played.*motion: \{family: lift_and_drop'),
    (lambda: LiftAndDropBasis(9.0, 1, 1.5), 'cannot be played'),
    (lambda: parse_settings(MotionSettings, {'family': 'fourier', 'speeds': [1.0]}, 'a.yaml'),
     r'speeds means nothing for the family fourier.*motion: \{family: cruise\}'),
    (lambda: parse_settings(MotionSettings, {'family': ['cruise']}, 'a.yaml'), 'family'),
])
def test_what_is_no_such_motion_is_refused_with_what_to_write(make, words):
    with pytest.raises(ConfigurationError, match=words):
        make()


@pytest.mark.slow
@pytest.mark.parametrize(('family', 'seconds'), [
    ('chirp', 10.0), ('triangle', 20.0), ('cruise', 60.0), ('lift_and_drop', 30.0)])
def test_a_motion_for_drives_is_designed_within_limits_and_read_again(
    tmp_path, capsys, family, seconds
):
    (tmp_path / 'arm.urdf').write_text(arm_urdf())
    settings, folder = tmp_path / 'arm.yaml', tmp_path / 'motion'
    settings.write_text(SETTINGS % family)
    assert main(['excite', str(settings), '-o', str(folder)]) == ExitCode.OK
    found = load_excitation(folder / 'excitation.yaml')
    assert found.basis.name == family and found.duration == seconds
    designer = ExcitationPlan.load(settings).designer()
    verified = designer.verify(designer.dense(found))
    assert verified.allowed and verified.findings == ()
    # Some limit is used up to its margin: it is as large as it may be.
    assert max(part.max() for part in verified.used.values()) > 0.75
    motion = found.grid(200.0)
    for end in (0, -1):
        assert np.abs(motion.v[end]).max() < 1e-9
    capsys.readouterr()
    assert main(['excite', str(settings), '--check', str(folder / 'motion.csv')]) == ExitCode.OK
