"""The campaign node with the nodes that it needs as processes: to an estimate, and to a stop."""

from __future__ import annotations

import json
import math

import pytest
from action_msgs.msg import GoalStatus
from sensor_msgs.msg import JointState

from sysid_ros.action import RunCampaign
from sysid_ros.msg import ExcitationStatus, IdentificationStatus, ResultCode
from sysid_ros.srv import ListRevisions

# Of a whole campaign, and of what nodes take until they are active, in [s], on a busy machine.
LONGEST, PATIENCE = 400.0, 240.0
ACTION = 'campaign_node/run'


@pytest.fixture
def campaign(ros, loop, monkeypatch):
    """Sends a goal; its handle, and all that is fed back."""
    monkeypatch.setattr(ros, 'folder', loop)
    ros.start('campaign_node', {'patience': PATIENCE})

    def send(**fields):
        said = []
        handle = ros.send_goal(
            RunCampaign, ACTION, lambda message: said.append(message.feedback),
            **{'arm': True, 'first_pass': 0.0, **fields})
        return handle, said

    return send


def test_motions_are_played_until_torques_are_known_and_nothing_is_committed(
    ros, loop, campaign
):
    handle, said = campaign(torque_accuracy=0.02, most_motions=3)
    result = ros.result(handle, LONGEST)
    assert (result.success, result.code) == (True, ResultCode.OK), result.message
    assert 'The wanted accuracy is reached. Now: torque error' in result.message
    assert result.torque_accuracy <= 0.02
    assert 1 <= len(result.recordings) <= 3
    provenance = loop / 'data' / 'estimates' / result.estimate / 'provenance.json'
    assert json.loads(provenance.read_text())['recordings'] == list(result.recordings)
    assert result.held_out_relative_error < result.prior_relative_error
    assert result.committable, result.reasons
    # Every motion was told, with what was known before it and what was expected after it.
    assert {one.motion for one in said} == set(range(len(result.recordings) + 1))
    before = next(one for one in said if one.motion == 1)
    assert before.torque_accuracy > before.expected_torque_accuracy > 0.0
    assert math.isnan(said[0].torque_accuracy)
    assert any(0.0 < one.progress < 1.0 for one in said)
    (only,) = ros.call(ListRevisions, 'model_server/list_revisions').revisions
    assert only.estimate == ''


def test_a_campaign_that_is_cancelled_in_mid_motion_ends_at_rest_without_a_recording_under_way(
    ros, campaign
):
    states = ros.hear(JointState, 'joint_states', 100)
    statuses = ros.hear(ExcitationStatus, 'excitation_node/status', 100)
    recordings = ros.hear(IdentificationStatus, 'identification_node/status', 10)
    handle, _ = campaign()
    ended = handle.get_result_async()
    ros.wait(lambda: ended.done() or (
        statuses and statuses[-1].phase == ExcitationStatus.PLAYING
        and statuses[-1].progress > 0.1), LONGEST)
    assert not ended.done(), ended.result()
    ros.wait(handle.cancel_goal_async().done)
    ros.wait(lambda: statuses[-1].phase == ExcitationStatus.HOLDING, 5.0)
    ros.wait(ended.done, 30.0)
    result = ended.result().result
    assert (result.success, result.code) == (False, ResultCode.CANCELLED), result.message
    assert ended.result().status == GoalStatus.STATUS_CANCELED
    assert list(result.recordings) == [] and result.estimate == ''
    assert max(map(abs, states[-1].velocity)) < 0.1
    ros.wait(lambda: recordings[-1].state == IdentificationStatus.IDLE)
    # It is free for the next goal, which is not refused as busy.
    assert ros.result(campaign(arm=False)[0]).code == ResultCode.NOT_ARMED


def test_a_goal_without_consent_or_without_nodes_is_refused_with_what_to_do(ros):
    ros.start('campaign_node', {'patience': 1.0})
    refused = ros.result(ros.send_goal(RunCampaign, ACTION))
    assert (refused.success, refused.code) == (False, ResultCode.NOT_ARMED)
    assert 'arm: true' in refused.message
    lonely = ros.result(ros.send_goal(RunCampaign, ACTION, arm=True))
    assert (lonely.success, lonely.code) == (False, ResultCode.NOT_READY)
    assert 'ros2 launch sysid_ros identify.launch.py' in lonely.message
    assert ros.stop('campaign_node') == 0
