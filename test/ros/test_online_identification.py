"""A robot that is followed while it works, over DDS: estimate, changes, payload."""

import numpy as np
import pytest

from support.identification_bench import Setup
from sysid_ros import action
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.msg import (
    IdentificationStatus,
    IdentifiedParameters,
    OnlineParameters,
    ParameterChange,
    ResultCode,
)
from sysid_ros.nodes.conversions import (
    model_with_terms_of,
    parameters_from_message,
    parameters_message,
)
from sysid_ros.nodes.node import LATCHED, STREAM
from sysid_ros.report.report import Report
from sysid_ros.runs.sources import load_without_recording
from sysid_ros.srv import IdentifyPayload

LOAD = 0.5


@pytest.fixture
def setup(ros):
    return Setup(ros)


def hand_out(setup, estimate):
    """The revision that a model server would hand out."""
    model = load_without_recording(setup.ros.folder / 'settings.yaml').model()
    known = Estimate.load(setup.data / 'estimates' / estimate / 'estimate.json')
    publisher = setup.ros.client.create_publisher(
        IdentifiedParameters, 'model_server/identified_parameters', LATCHED)
    message = parameters_message(
        model.robot, known.parameters, revision='1-first', estimate=estimate)
    publisher.publish(message)
    return model_with_terms_of(message, model)


def payload(setup, **fields):
    return setup.ros.call(IdentifyPayload, 'identification_node/identify_payload', **fields)


def test_a_robot_is_followed_and_a_load_is_noticed_and_told(setup):
    heard = setup.ros.hear(OnlineParameters, 'identification_node/online_parameters', STREAM)
    changes = setup.ros.hear(ParameterChange, 'identification_node/parameter_change', LATCHED)
    setup.recorder(online=True, online_warm_up=3.0).robot()
    setup.record(10.0)
    result = setup.ros.result(setup.identify())
    assert result.committable, result.reasons
    early = payload(setup, duration=3.0)
    assert (early.success, early.code) == (False, ResultCode.NOT_READY)
    assert 'no estimate of the robot without load is committed' in early.message
    model = hand_out(setup, result.estimate)
    # A fit may have chosen terms that settings leave open.
    setup.ros.wait(lambda: heard and heard[-1].rows > 200 and (
        list(heard[-1].names) == list(model.parameters.names)))
    message = heard[-1]
    assert min(message.consistency_margins) > 0.0
    assert 0.0 < message.relative_error < 0.2
    again = parameters_from_message(message.parameters, model)
    np.testing.assert_allclose(again.values, message.values, rtol=1e-9, atol=1e-9)
    setup.ros.wait(lambda: setup.statuses[-1].online.startswith('following'))
    status = setup.statuses[-1]
    assert isinstance(status, IdentificationStatus)
    assert status.online_rows > 200
    assert status.online_consistency_margin > 0.0
    setup.ros.spin(5.0)
    setup.ros.wait(lambda: payload(setup, duration=4.0).code != ResultCode.NOT_READY)
    empty = payload(setup, duration=4.0)
    assert empty.success, empty.message
    assert not empty.significant, empty.message
    assert changes == []
    setup.ros.stop('robot')
    setup.robot('--load', LOAD)
    setup.ros.wait(lambda: changes)
    change = changes[0]
    assert (change.kind, change.revision) == (ParameterChange.PAYLOAD, '1-first'), change.message
    assert change.values[0] == pytest.approx(LOAD, abs=4.0 * change.standard_deviations[0])
    assert change.statistic > change.threshold
    setup.ros.wait(lambda: 'changed' in setup.statuses[-1].change)
    setup.ros.spin(5.0)
    stages = []
    told = setup.ros.result(setup.ros.send_goal(
        action.IdentifyPayload, 'identification_node/identify_payload',
        lambda message: stages.append(message.feedback.stage), duration=5.0))
    # Nothing keeps the result from coming before the last feedback.
    setup.ros.wait(lambda: [stage.split()[0] for stage in stages] == ['Reading', 'Fitting'])
    assert told.success, told.message
    assert told.significant, told.message
    assert told.load.m == pytest.approx(LOAD, abs=4.0 * told.standard_deviation.m)
    assert told.load.m == pytest.approx(LOAD, rel=0.2)
    assert told.error_with < told.error_without
    # A page of it stands there since the change, and is written anew at the end.
    setup.ros.stop('identification_node')
    document, = setup.data.glob('followed/*/report.json')
    shown = Report.load(document)
    assert shown.sections[0].change.startswith('The load on ')
    assert shown.sections[0].rows >= status.online_rows
    assert document.with_name('report.html').is_file()


def test_what_cannot_be_told_of_a_payload_is_refused(setup):
    setup.recorder().robot()
    setup.record(8.0)
    result = setup.ros.result(setup.identify())
    hand_out(setup, result.estimate)
    setup.ros.wait(lambda: payload(setup, duration=0.0).code == ResultCode.INVALID_REQUEST)
    long = payload(setup, duration=1000.0)
    assert (long.success, long.code) == (False, ResultCode.INVALID_REQUEST)
    assert 'the parameter history' in long.message
    # As much motion as is asked about has to be heard first.
    setup.ros.spin(5.0)
    setup.ros.wait(lambda: payload(setup, duration=3.0).code != ResultCode.BAD_DATA)
    foreign = payload(setup, duration=3.0, link='wing')
    assert (foreign.success, foreign.code) == (False, ResultCode.INVALID_REQUEST), foreign.message
    assert 'no such moving link' in foreign.message
    assert setup.statuses[-1].online == ''


def test_a_robot_that_cannot_be_followed_is_an_error_for_people(setup):
    process = setup.recorder(online=True, payload_link='wing').process
    setup.ros.wait(lambda: process.poll() is not None)
    assert process.returncode == 1
    assert 'no such moving link' in setup.ros.output('identification_node')
