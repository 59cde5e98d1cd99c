"""Parameters of the excitation node."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from sysid_ros.excitation.playback.checks import PlaybackTolerances
from sysid_ros.excitation.playback.session import SessionSettings
from sysid_ros.nodes.settings import NodeSettings

#: Outputs, and the topic or action that each goes to unless another is named.
OUTPUTS = {
    'reference': 'reference', 'position': 'position_commands', 'effort': 'effort_commands',
    'trajectory': 'joint_trajectory', 'follow_joint_trajectory': 'follow_joint_trajectory',
}


class ExcitationNodeSettings(NodeSettings):
    """Parameters of the excitation node; those of ``live`` hold from the next motion on."""

    live: ClassVar[frozenset[str]] = frozenset({
        'arm_timeout', 'tracking_error', 'state_timeout', 'heartbeat_timeout', 'overrun',
        'bad_in_a_row', 'reaction_time', 'over', 'path_stop', 'rest_velocity', 'rest_timeout',
        'result_margin'})

    plan: str = Field(
        default='', description='Settings file of sysid excite: robot, limits, clearance')
    data_folder: str = Field(
        default='~/sysid_data', description='Folder of motions, recordings, estimates, revisions')
    output: Literal[
        'reference', 'position', 'effort', 'trajectory', 'follow_joint_trajectory'
    ] = Field(
        default='reference',
        description='reference, position or effort: a stream; trajectory: the motion on a '
        'topic, piece by piece; follow_joint_trajectory: the same through the action')
    command: str = Field(
        default='', description='Topic or action of the output; empty: the usual name')
    joint_states: str = Field(default='joint_states', description='Topic of the joint states')
    monitor: str = Field(
        default='monitor_node', description='Node without whose heartbeat nothing moves')
    frame_prefix: str = Field(
        default='', description='What TF frames have before the names of links, as the '
        'frame_prefix of robot_state_publisher, for markers in RViz')
    rate: float = Field(default=200.0, ge=20.0, le=1000.0, description='Ticks per second in [Hz]')

    arm_timeout: float = Field(
        default=60.0, gt=0.0, le=600.0, description='Time for which arming holds in [s]')
    tracking_error: float = Field(
        default=0.1, gt=0.0, le=1.0,
        description='Largest distance from the command in [rad] or [m]')
    state_timeout: float = Field(
        default=0.1, ge=0.1, le=1.0,
        description='Longest time without joint states in [s]; at least five of their periods')
    heartbeat_timeout: float = Field(
        default=0.2, ge=0.1, le=2.0, description='Longest silence of the monitor in [s]')
    overrun: float = Field(
        default=0.05, ge=0.01, le=0.1, description='Longest delay of a tick in [s]')
    bad_in_a_row: int = Field(
        default=5, ge=1, le=100,
        description='Most joint states without a finite position, one after another')
    reaction_time: float = Field(
        default=0.05, ge=0.0, le=1.0, description='Time until braking begins in [s]')
    over: float = Field(
        default=0.05, ge=0.0, le=1.0,
        description='Part by which measured velocity and effort may exceed their limits')
    path_stop: float = Field(
        default=0.5, ge=0.0, le=5.0,
        description='A stop on request stays on the path if it takes no longer than this in [s]')
    rest_velocity: float = Field(
        default=0.02, gt=0.0, le=0.2,
        description='Part of the velocity limit below which a joint is at rest')
    rest_timeout: float = Field(
        default=3.0, gt=0.0, le=30.0, description='Longest time until rest is measured in [s]')
    result_margin: float = Field(
        default=2.0, gt=0.0, le=60.0,
        description='Longest delay of the result of follow_joint_trajectory in [s]')
    horizon: float = Field(
        default=0.4, ge=0.0, le=2.0,
        description='How far ahead trajectory and follow_joint_trajectory tell the controller in '
        '[s]; every piece ends at rest and is replaced by the next one, so that the robot stops '
        'when this computer dies; 0: the whole motion at once, for controllers that refuse to '
        'replace a goal')
    natural_frequency: float = Field(
        default=10.0, gt=0.0, le=1000.0,
        description='Of the feedback behind the output effort in [rad/s]')
    damping: float = Field(
        default=1.0, gt=0.0, le=10.0, description='Damping ratio of that feedback')

    @property
    def tolerances(self) -> PlaybackTolerances:
        """What is tolerated while a motion is played."""
        return PlaybackTolerances(
            self.tracking_error, self.state_timeout, self.heartbeat_timeout, self.overrun,
            self.bad_in_a_row, self.reaction_time, self.over,
        )

    @property
    def session(self) -> SessionSettings:
        """How motions are started and stopped."""
        return SessionSettings(
            self.arm_timeout, self.path_stop, self.rest_velocity, self.rest_timeout)
