"""What mends a reason against a model can be pasted into a settings file."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import yaml

from support import golden_problems as simulated
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.fit_settings import FitSettings
from sysid_ros.estimation.payload.known import LoadFinding
from sysid_ros.evaluation.contradictions import Contradiction, FaultKind
from sysid_ros.evaluation.data_findings import DataFindings
from sysid_ros.evaluation.prediction import predict
from sysid_ros.evaluation.verdict import judge
from sysid_ros.recording.checks.quality import DataQuality
from sysid_ros.recording.description import RecordingSettings


@pytest.fixture(scope='module')
def golden():
    return simulated.golden('arm')


@pytest.fixture(scope='module')
def estimate(golden):
    return make_estimator('entropic').fit(golden.problem(0.02))


@pytest.fixture(scope='module')
def prediction(golden, estimate):
    return predict(estimate, golden.problem(0.02, seed=31))


def quality(rate):
    """A recording with stamps of this rate and nothing to object to."""
    return DataQuality(
        source='', rate=rate, jitter=0.0, gaps=0, longest_gap=0.0, duration=1.0, segments=1,
        joints=(), counts={}, delays=(), efforts=(), warnings=())


RECORDING = {
    'format': 'npz', 'file': 'a.npz', 'joints': ['a', 'b', 'c'], 'time': {'array': 't'},
    'position': {'array': 'q'}, 'effort': {'array': 'tau'}}
LINE = re.compile(r'((?:fit|recording|processing): \{)')


def pasted(text):
    """Lines of settings within a sentence, each as the settings that it gives."""
    for found in LINE.finditer(text):
        depth, stop = 0, found.start()
        for stop in range(found.start(), len(text)):
            depth += {'{': 1, '}': -1}.get(text[stop], 0)
            if text[stop] == '}' and not depth:
                break
        yield yaml.safe_load(text[found.start():stop + 1])


def test_what_mends_it_can_be_pasted(estimate, prediction):
    """Each line is one that settings take, and names what it is about."""
    names = prediction.joint_names
    worse = prediction.candidate.rms_per_joint.copy()
    worse[1] = 3.0 * prediction.prior.rms_per_joint[1]
    broken = replace(estimate, margins={**estimate.margins, 'hand': 0.0})
    training, prior = estimate.residuals.relative_error, prediction.prior.relative_error
    lost = replace(
        prediction.candidate, relative_error=prior - 0.3 * (prior - training),
        rms_per_joint=worse)
    verdict = judge(broken, replace(prediction, candidate=lost), data=DataFindings(
        coarse=names, load=LoadFinding(2.0, 2.5, 0.01),
        contradictions=(Contradiction(FaultKind.CLOCK, '', 1.25, 100.0, names),),
        qualities=(quality(80.0),)))
    lines = [line for step in verdict.next_steps for line in pasted(step)]
    for line in lines:
        if 'fit' in line:
            FitSettings.model_validate(line['fit'])
        else:
            (key, more), = line['recording'].items()
            there = {} if key == 'time' else RECORDING[key]
            RecordingSettings.model_validate(RECORDING | {key: there | more})
    assert {'fit': {'estimator': 'entropic'}} in lines
    assert {'fit': {'prior_strength': 'auto'}} in lines
    assert {'fit': {'fixed': [f'{names[1]}.*']}} in lines
    assert {'fit': {'estimator': 'collocation'}} in lines
    assert {'recording': {'effort': {'scale': 0.8}}} in lines
    assert {'recording': {'time': {'rate': 100.0}}} in lines
