"""Real recordings through their YAML files, against the formulas their owners publish."""


import numpy as np
import pytest

from support import TESTS
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.load import load_recording
from sysid_ros.recording.processing.align import align
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.settings import load_yaml, parse_settings

DESCRIPTIONS = TESTS / 'reproduction'


def load(name, base):
    sections = load_yaml(DESCRIPTIONS / name)
    settings = parse_settings(RecordingSettings, sections['recording'], f'{name}: recording')
    processing = parse_settings(Processing, sections['processing'], f'{name}: processing')
    recording = load_recording(settings, base)
    return recording, align(recording, settings.joints, processing), processing


def test_the_tx40_is_turned_from_motors_to_joints_with_its_coupled_wrist(shared_data):
    base = shared_data / 'staubli_tx40'
    recording, data, processing = load('tx40.yaml', base)
    raw = {
        name: np.loadtxt(base / f'{name}_data.csv', delimiter=',', skiprows=1)
        for name in ('pos_read', 'curr')
    }
    ratios = np.array([32.0, 32.0, 45.0, -48.0, 45.0, 32.0])
    q = raw['pos_read'] / ratios
    q[:, 5] -= q[:, 4]  # motor 6 turns 32 times with joint 5 as well
    q += [0, -np.pi / 2, np.pi / 2, 0, 0, 0]
    tau = raw['curr'] * ratios
    tau[:, 4] += 32 * raw['curr'][:, 5]
    np.testing.assert_allclose(recording.channel('position').values, q, atol=1e-12)
    np.testing.assert_allclose(recording.channel('effort').values, tau, atol=1e-10)
    assert data.rate == pytest.approx(5000.0)
    trimmed = round(sum(processing.trim) * data.rate)
    assert len(data) == 45_000 - trimmed - 2 * processing.edge(data.rate)
    assert data.mask.all()
    # The last second is standstill, with encoders that repeat their value: none is stuck.
    assert not data.moving(processing.standstill_velocity)[-4000:].any()
    assert data.warnings == ()


@pytest.mark.parametrize('run', [1, 2])
def test_the_kuka_samples_are_used_as_recorded(shared_data, run):
    base = shared_data / 'kuka_lwr4'
    _, data, _ = load(f'kuka_run{run}.yaml', base)
    with np.load(base / f'measurements_{run}.npz', allow_pickle=False) as raw:
        for mine, theirs in (('q', 'positions'), ('v', 'velocities'), ('a', 'accelerations'),
                             ('tau', 'torques')):
            np.testing.assert_array_equal(getattr(data, mine), raw[theirs])
    assert data.rate == pytest.approx(200.0, rel=1e-4)
    assert data.segments == ((0, 5027),)
