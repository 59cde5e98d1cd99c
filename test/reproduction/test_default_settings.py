"""Real recordings, given robot, file, units and gears alone: good sensors are not accused."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification
from sysid_ros.evaluation.study import Study

HERE = Path(__file__).parent


def bare(folder, base, name, urdf):
    """Settings of a recording without what an expert added."""
    recording = yaml.safe_load((HERE / f'{name}.yaml').read_text())['recording']
    # The derivatives are the recorder's own.
    for key in ('velocity', 'acceleration'):
        recording.pop(key, None)
    path = folder / f'{name}.yaml'
    path.write_text(yaml.safe_dump({'robot': {'urdf': urdf}, 'recording': recording}))
    return Identification.load(path, base)


@pytest.mark.slow
@pytest.mark.parametrize(('fitted', 'judged', 'most'), [(1, 2, 0.0245), (2, 1, 0.0275)])
def test_either_kuka_recording_judges_a_model_of_the_other(
    shared_data, tmp_path, fitted, judged, most
):
    training, validation = (
        bare(tmp_path, shared_data / 'kuka_lwr4', f'kuka_run{run}', 'kuka_lwr4.urdf')
        for run in (fitted, judged))
    study = Study.load(FitSetup.of(training), validation=validation)
    assert [one.sentence for one in study.data.efforts if not one.kind.usable] == []
    found = study.fit('entropic')
    assert found.verdict.committable, found.verdict.reasons
    assert found.held_out.candidate.relative_error <= most


@pytest.mark.slow
def test_the_tx40_judges_itself(shared_data, tmp_path):
    asked = bare(tmp_path, shared_data / 'staubli_tx40', 'tx40', 'tx40_mdh_modified.urdf')
    study = Study.load(FitSetup.of(asked), holdout=1.0 / 3.0)
    assert [one.sentence for one in study.data.efforts if not one.kind.usable] == []
    found = study.fit('entropic')
    assert found.verdict.committable, found.verdict.reasons
    assert found.held_out.candidate.relative_error <= 0.055
