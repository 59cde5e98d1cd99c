"""A load of known mass fixes the scale of all efforts, which no recording shows."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from support.simulated_arm import SimulatedArm
from sysid_ros.cli.main import main
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification
from sysid_ros.evaluation.study import Study
from sysid_ros.recording.recording import Channel
from sysid_ros.robot.inertia import inertial_parameters

RATE, MASS = 100.0, 1.4
LOAD = inertial_parameters(MASS, np.array([0.05, -0.03, 0.12]), np.diag([0.006, 0.007, 0.003]))


def written(folder, name, recording, scale, **sections):
    """A recording and its settings as files, all efforts in parts of the torque."""
    np.savez(folder / f'{name}.npz', t=recording.channel('position').t,
             q=recording.channel('position').values,
             tau=scale * recording.channel('effort').values)
    settings = {'recording': {
        'format': 'npz', 'file': f'{name}.npz', 'time': {'array': 't'}, 'position': {'array': 'q'},
        'effort': {'array': 'tau'}, 'joints': list(recording.channel('effort').names)}}
    (folder / f'{name}.yaml').write_text(yaml.safe_dump(settings | sections))
    return folder / f'{name}.yaml'


def loaded(arm, bodies, seconds=20.0):
    """A recording of the arm with the load on its last link."""
    plain = arm.recording(seconds, RATE, bits=18)
    t = plain.channel('effort').t
    carries = arm.model.regressor(*arm.motion(t))[:, :, 10 * bodies - 10:10 * bodies] @ LOAD
    tau = plain.channel('effort')
    return type(plain)((
        plain.channel('position'), Channel('effort', tau.names, 'N·m', t, tau.values + carries)),
        'simulated', '')


@pytest.fixture(scope='module')
def arm():
    return SimulatedArm(4)


def files(folder, arm, scale, **payload):
    """Settings of an arm's recording that knows of a load; the one without is its training."""
    (folder / 'arm.urdf').write_text(arm.description)
    written(folder, 'loaded', loaded(arm, len(arm.model.robot.body_names)), scale)
    known = {'payload': {'recording': 'loaded.yaml', 'mass': MASS} | payload}
    return written(folder, 'first', arm.recording(20.0, RATE, bits=17), scale,
                   robot={'urdf': 'arm.urdf'}, known=known)


def judged(path, **changes):
    identification = Identification.load(path)
    if changes:
        identification = type(identification)(
            identification.settings.model_copy(update=changes), identification.base, path)
    return Study.load(FitSetup.of(identification), holdout=0.25).fit('entropic')


@pytest.mark.slow
def test_efforts_on_the_scale_of_a_known_load_are_said_to_be(arm, tmp_path):
    verdict = judged(files(tmp_path, arm, 1.0)).verdict
    assert verdict.committable, verdict.reasons
    assert any(remark.startswith('The scale of all efforts is that of the known load')
               for remark in verdict.remarks)


@pytest.mark.slow
def test_a_scale_that_no_recording_shows_is_a_reason_against_with_its_line(arm, tmp_path):
    path = files(tmp_path, arm, 1.25)
    blind = judged(path, known=type(Identification.load(path).settings.known)()).verdict
    assert blind.committable
    assert any('Pick up a load of known mass' in remark for remark in blind.remarks)
    verdict = judged(path).verdict
    (reason,) = verdict.reasons
    assert reason.startswith('The known load of 1.4 kg is 1.7')
    said = verdict.next_step.partition('recording: {effort: {scale: ')[2]
    assert float(said.partition('}')[0]) == pytest.approx(1.0 / 1.25, rel=0.005)


def test_a_load_in_the_fitted_recording_itself_is_refused(arm, tmp_path):
    path = files(tmp_path, arm, 1.0, recording='first.yaml')
    with pytest.raises(ConfigurationError, match='samples that are fitted without it'):
        judged(path)


@pytest.mark.slow
def test_a_run_can_be_fitted_again_with_what_was_known(arm, tmp_path, capsys):
    path = files(tmp_path, arm, 1.0)
    run = tmp_path / 'run'
    assert main(['fit', str(path), '--holdout', '0.25', '-o', str(run)]) == 0
    assert 'The scale of all efforts is that of the known load' in capsys.readouterr().out
    again = Identification.load(run / 'settings.yaml')
    assert (again.base / again.settings.known.payload.recording).is_file()
