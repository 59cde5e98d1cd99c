"""Parameters of the monitor."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from sysid_ros.nodes.settings import NodeSettings


class MonitorNodeSettings(NodeSettings):
    """Parameters of the monitor."""

    live: ClassVar[frozenset[str]] = frozenset({
        'heartbeat_timeout', 'tracking_error', 'state_timeout', 'bad_in_a_row', 'reaction_time',
        'over', 'lost_effort', 'residual', 'first_residual', 'first_run', 'residual_cutoff',
        'rest_velocity'})

    plan: str = Field(
        default='', description='Settings file of sysid excite: robot and limits')
    joint_states: str = Field(default='joint_states', description='Topic of the joint states')
    watch: tuple[str, ...] = Field(
        default=('excitation_node',), description='Nodes whose silence stops the robot')
    status: str = Field(
        default='excitation_node/status', description='Topic of what the robot is told')
    parameters: str = Field(
        default='model_server/identified_parameters',
        description='Topic of the revision that torques are predicted with; before: the prior')
    trajectory_topics: tuple[str, ...] = Field(
        default=('joint_trajectory',), description='Topics that get an empty trajectory at a stop')
    cancel: Literal['named', 'namespace', 'all'] = Field(
        default='namespace', description='Whose FollowJointTrajectory goals are taken back at a '
        "stop, besides those of cancel_actions: nobody's; those of controllers in the namespace of "
        'this node; those of every robot in the ROS domain')
    cancel_actions: tuple[str, ...] = Field(
        default=(), description='Actions whose goals are taken back at a stop in any case')
    rate: float = Field(default=100.0, ge=20.0, le=1000.0, description='Looks per second in [Hz]')
    heartbeat_timeout: float = Field(
        default=0.2, ge=0.1, le=2.0, description='Longest silence of a watched node in [s]')
    tracking_error: float = Field(
        default=0.15, gt=0.0, le=1.0,
        description='Largest distance from the command in [rad] or [m]')
    state_timeout: float = Field(
        default=0.1, ge=0.1, le=1.0,
        description='Longest time without joint states in [s]; at least five of their periods')
    bad_in_a_row: int = Field(
        default=5, ge=1, le=100,
        description='Most joint states without a finite position, one after another')
    reaction_time: float = Field(
        default=0.02, ge=0.0, le=1.0, description='Time until braking begins in [s]')
    over: float = Field(
        default=0.1, ge=0.0, le=1.0,
        description='Part by which measured velocity and effort may exceed their limits')
    lost_effort: Literal['stop', 'warn'] = Field(
        default='stop', description='What becomes of a motion in which a joint that gave its '
        'effort gives none in more than bad_in_a_row joint states in a row, so that neither '
        'contact nor overload of it is noticed: it is stopped, or goes on with a warning on '
        '/diagnostics')
    residual: float = Field(
        default=0.3, gt=0.0, le=1.0,
        description='Part of the effort limit that unexplained torque may reach')
    first_residual: float = Field(
        default=0.8, gt=0.0, le=1.0,
        description='The same before a revision is committed, since the description may be very '
        'wrong, for joints of which no motion has shown what it misses')
    first_run: float = Field(
        default=3.0, ge=0.0, le=100.0,
        description='Multiple of the torque that the description was seen to miss, in the first '
        'motion, which is a slow one, and in later ones, that is allowed before a revision is '
        'committed; no less than residual, no more than first_residual; 0: first_residual')
    residual_cutoff: float = Field(
        default=5.0, gt=0.0, le=100.0, description='Cutoff of the filter of torques in [Hz]')
    rest_velocity: float = Field(
        default=0.02, gt=0.0, le=0.2,
        description='Part of the velocity limit below which a joint is at rest')
