"""What the panel hears of a robot and its nodes, taken in bulk, into the state that pages show."""

from __future__ import annotations

import time
from typing import Any

from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from sysid_ros.msg import (
    ExcitationStatus,
    Heartbeat,
    IdentificationStatus,
    IdentifiedParameters,
    RevisionInfo,
    StopRequest,
)
from sysid_ros.nodes.node import HEARTBEAT_TOPIC, LATCHED, STOP_TOPIC, STREAM, SysidNode, now
from sysid_ros.nodes.panel_settings import PanelNodeSettings
from sysid_ros.nodes.reception import qos_problem
from sysid_ros.nodes.requests import ServiceRequest
from sysid_ros.nodes.robot_observer import BEATS
from sysid_ros.srv import GetRevision, ListRevisions
from sysid_ros.studio.live.state import EXCITATION, IDENTIFICATION, MODEL_SERVER, LiveState
from sysid_ros.studio.live.views import (
    MotionPhase,
    MotionStatus,
    NodeSign,
    NodeState,
    RecordingStatus,
    RevisionEntry,
    Revisions,
    StopOrder,
)

# Joint states and heartbeats that may wait between two looks; a lost one does no harm.
_STATES = QoSProfile(depth=500, reliability=ReliabilityPolicy.BEST_EFFORT)
# Times in [s] between looks at joint states, at what nodes say, and at the store of revisions.
_LOOK, _HEAR, _STORE = 0.05, 0.1, 2.0
_STATES_OF_NODES = {
    Heartbeat.INACTIVE: NodeState.INACTIVE, Heartbeat.ACTIVE: NodeState.ACTIVE,
    Heartbeat.WORKING: NodeState.WORKING, Heartbeat.STOPPING: NodeState.STOPPING,
    Heartbeat.ERROR: NodeState.ERROR}
_PHASES = {getattr(ExcitationStatus, phase.name): phase for phase in MotionPhase}
_KINDS = {
    RevisionInfo.INITIAL: 'as described', RevisionInfo.COMMIT: 'commit',
    RevisionInfo.ROLLBACK: 'rollback'}
# Revisions that a page lists.
_LISTED = 50


class PanelFeeds:
    """Subscriptions and queries from ``configure`` of the panel to its clean-up.

    Args:
        node: The panel.
        state: What is filled in.
    """

    def __init__(self, node: SysidNode[PanelNodeSettings], state: LiveState) -> None:
        self._node, self._state = node, state
        self._joints = node.poll(
            JointState, node.settings.joint_states, _STATES, raw=True)
        self._beats = node.poll(Heartbeat, HEARTBEAT_TOPIC, BEATS)
        self._status = node.poll(ExcitationStatus, f'{EXCITATION}/status', STREAM)
        node.listen(IdentificationStatus, f'{IDENTIFICATION}/status', self._take_recording)
        node.listen(StopRequest, STOP_TOPIC, self._take_stop)
        node.listen(IdentifiedParameters, f'{MODEL_SERVER}/identified_parameters',
                    self._look_at_store, LATCHED)
        self._list = node.keep(node.destroy_client, node.create_client(
            ListRevisions, f'{MODEL_SERVER}/list_revisions'))
        self._get = node.keep(node.destroy_client, node.create_client(
            GetRevision, f'{MODEL_SERVER}/get_revision'))
        self._asked: list[ServiceRequest] = []
        self._looked = -_STORE
        node.every(_LOOK, self._take_joints)
        node.every(_HEAR, self._take_signs)

    def _take_joints(self) -> None:
        taken = self._joints.take()
        self._state.traces.receive(
            [payload for payload, _ in taken], [received for _, received in taken])

    def _take_signs(self) -> None:
        moment, clock = now(), time.time_ns()
        for beat, received in self._beats.take():
            name = str(beat.node).rpartition('/')[2]
            self._state.hear(name, NodeSign(
                _STATES_OF_NODES.get(beat.state, NodeState.ERROR), str(beat.message),
                moment - 1e-9 * max(clock - received, 0)))
        for status, received in self._status.take()[-1:]:
            self._state.motion = MotionStatus(
                _PHASES.get(status.phase, MotionPhase.IDLE), str(status.motion),
                float(status.progress), str(status.reason),
                moment - 1e-9 * max(clock - received, 0))
        if moment - self._looked > _STORE:
            self._state.problem = '' if self._state.seen else qos_problem(
                self._node, self._joints.subscription.topic_name, _STATES)
            self._look_at_store()
        self._take_revisions()

    def _take_recording(self, status: IdentificationStatus) -> None:
        both = status.state == IdentificationStatus.RECORDING_AND_FITTING
        self._state.recording = RecordingStatus(
            both or status.state == IdentificationStatus.RECORDING,
            both or status.state == IdentificationStatus.FITTING,
            status.state == IdentificationStatus.ERROR, str(status.message),
            str(status.recording), float(status.duration), int(status.samples),
            int(status.dropped),
            tuple(zip(map(str, status.fault_names), map(int, status.fault_counts), strict=False)),
            tuple(zip(map(str, status.joint_names), map(float, status.torque_rms),
                      map(float, status.torque_residual_rms), strict=False)),
            str(status.estimate), str(status.stage), float(status.progress), now())

    def _take_stop(self, request: StopRequest) -> None:
        self._state.stop = StopOrder(
            str(request.source), tuple(map(str, request.reasons)), time.time())

    def _look_at_store(self, _: Any = None) -> None:
        """Ask the model server for its revisions, unless it is being asked."""
        self._looked = now()
        if self._asked or not (
                self._list.service_is_ready() and self._get.service_is_ready()):
            return
        self._asked = [
            ServiceRequest(self._list, ListRevisions.Request(limit=_LISTED)),
            ServiceRequest(self._get, GetRevision.Request())]

    def _take_revisions(self) -> None:
        if not self._asked:
            return
        answered = [request.poll() for request in self._asked]
        if all(answered):
            (listed, current), self._asked = (one.answer for one in self._asked), []
            if listed.success:
                # What is refused has no consumers.
                self._state.revisions = Revisions(
                    tuple(map(_entry, listed.revisions)), tuple(map(str, current.acknowledged)),
                    tuple(map(str, current.outdated)))
        elif not self._list.service_is_ready():
            for request in self._asked:
                request.drop()
            self._asked = []


def _entry(info: RevisionInfo) -> RevisionEntry:
    return RevisionEntry(
        str(info.revision), _KINDS.get(info.kind, '?'), str(info.estimate), str(info.restored),
        str(info.comment), info.stamp.sec + 1e-9 * info.stamp.nanosec,
        float(info.held_out_relative_error), bool(info.current))
