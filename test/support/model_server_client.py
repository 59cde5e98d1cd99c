"""A model server, a robot that moves or rests, and a client, for tests of the node."""

import functools
import time
from types import SimpleNamespace

import numpy as np
from sensor_msgs.msg import JointState

from sysid_ros import action
from sysid_ros.msg import IdentifiedParameters, ResultCode
from sysid_ros.nodes.conversions import to_time
from sysid_ros.nodes.node import LATCHED
from sysid_ros.srv import (
    AcknowledgeRevision,
    CommitParameters,
    GetRevision,
    ListRevisions,
    RollbackParameters,
)

# Between joint states, and by how much their clock is late, in [ns].
PERIOD, LATE = 10_000_000, 1_000_000_000_000
# Time in [s] after which a server has surely seen that the robot is at rest.
REST = 0.5


class Robot:
    """Publishes joint states of the arm of the fits: in motion, or at rest.

    Its clock is a thousand seconds late, so that motion can be told faster than it takes.
    """

    def __init__(self, ros, arm):
        self.ros, self.arm = ros, arm
        self.publisher = ros.client.create_publisher(JointState, 'joint_states', 1000)
        self.speed = 0.0
        self.clock = time.time_ns() - LATE
        self.q = arm.motion(np.array([0.0]))[0][0]
        self.timer = ros.client.create_timer(PERIOD * 1e-9, self.tick)

    def say(self, q, v, tau):
        """One joint state, a period after the one before."""
        self.clock += PERIOD
        message = JointState(
            name=list(self.arm.joint_names), position=q.tolist(), velocity=v.tolist(),
            effort=tau.tolist())
        message.header.stamp = to_time(self.clock)
        self.publisher.publish(message)

    def tick(self):
        """Rest, or creep with a constant speed."""
        zero = np.zeros_like(self.q)
        self.q = self.q + self.speed * PERIOD * 1e-9
        tau = self.arm.model.torque(self.arm.truth, *(row[None] for row in (self.q, zero, zero)))
        self.say(self.q, zero + self.speed, tau[0])

    def move(self, seconds):
        """So many seconds of motion, all at once; then it rests where it has come to."""
        t = np.arange(round(seconds * 1e9 / PERIOD)) * PERIOD * 1e-9
        q, v, _ = self.arm.motion(t + 30.0)
        for row in zip(q, v, self.arm.torque(t + 30.0), strict=True):
            self.say(*row)
        self.q = q[-1]
        self.ros.spin(REST)


def make_server(ros, fits, data):
    """Starts the node; the calls of a client."""
    robot = Robot(ros, fits.arm)
    heard = []

    def start(wait=True, **parameters):
        ros.start('model_server', {
            'data_folder': str(data), 'robot': str(fits.settings), **parameters})
        heard.append(ros.hear(IdentifiedParameters, 'model_server/identified_parameters', LATCHED))
        if wait:
            ros.wait(lambda: heard[-1])
            ros.wait(lambda: robot.publisher.get_subscription_count() > 0)
            ros.spin(REST)
        return heard[-1]

    def call(kind, name, **fields):
        return ros.call(kind, f'model_server/{name}', **fields)

    def commit(**fields):
        answers = []

        def decided():
            # As long as it has not found the robot, it does not know whether that is at rest.
            answers.append(call(CommitParameters, 'commit', **fields))
            return answers[-1].code != ResultCode.NOT_READY

        ros.wait(decided)
        return answers[-1]

    def commit_by_action(feedback, *, cancel=None, **fields):
        """A commit that is cancelled when a condition holds; handle and result of the goal."""
        results = []

        def decided():
            handle = ros.send_goal(
                action.CommitParameters, 'model_server/commit', feedback, **fields)
            ended = handle.get_result_async()
            if cancel is not None:
                ros.wait(lambda: cancel() or ended.done())
                ros.wait(handle.cancel_goal_async().done)
            results.append((handle, ros.result(handle)))
            return results[-1][1].code != ResultCode.NOT_READY

        ros.wait(decided)
        return results[-1]

    return SimpleNamespace(
        commit_by_action=commit_by_action,
        start=start, data=data, robot=robot, copy=functools.partial(fits.copy, data),
        call=call, commit=commit,
        rollback=functools.partial(call, RollbackParameters, 'rollback'),
        get=functools.partial(call, GetRevision, 'get_revision'),
        list=functools.partial(call, ListRevisions, 'list_revisions'),
        acknowledge=functools.partial(call, AcknowledgeRevision, 'acknowledge'),
    )
