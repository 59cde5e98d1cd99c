"""Controllers behind ``FollowJointTrajectory`` for tests: one that answers as told, one that acts.

``control_msgs`` is imported where it is used: tests build it where it is not installed.
"""

from __future__ import annotations

import time

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from trajectory_msgs.msg import JointTrajectory

from support.ideal_robot import Actor
from sysid_ros.nodes.conversions import to_nanoseconds


def has_found_a_client(node, action) -> bool:
    """Whether the server of an action on a node has found a client; an answer is lost before.

    Client and server find one another by themselves, and a client may do so first. On a robot the
    output says then that the action did not answer.
    """
    return node.count_clients(f'{action}/_action/send_goal') > 0


class Controller:
    """A trajectory controller that answers as it is told.

    Attributes:
        accepts: Whether it takes goals.
        heeds: Whether it takes goals back when asked.
        goals: Handles of the goals it took.
        cancels: How often it was asked to take one back.
    """

    def __init__(self, node, name):
        from control_msgs.action import FollowJointTrajectory

        self.kind = FollowJointTrajectory
        self.accepts = self.heeds = True
        self.goals, self.cancels = [], 0
        self.server = ActionServer(
            node, FollowJointTrajectory, name, lambda handle: None,
            goal_callback=lambda goal: (
                GoalResponse.ACCEPT if self.accepts else GoalResponse.REJECT),
            handle_accepted_callback=self.take, cancel_callback=self.cancel)

    def take(self, handle):
        """A goal that was accepted."""
        self.goals.append(handle)

    def cancel(self, _):
        """A request to take a goal back."""
        self.cancels += 1
        return CancelResponse.ACCEPT if self.heeds else CancelResponse.REJECT

    def end(self, state, code=0, text='', goal=-1):
        """End a goal, the newest unless another one is named, in a state of the action."""
        result = self.kind.Result(error_code=code, error_string=text)

        def finish(handle):
            getattr(handle, state)()
            return result

        self.goals[goal].execute(finish)


class ReplacingController(Controller):
    """Hands trajectories on, one in place of the other, as joint_trajectory_controller does.

    A goal that comes while one is active replaces it, and nothing is ever told of that one, or it
    is aborted. A goal that is taken back ends in an empty trajectory. Trajectories are handed on to
    the topic ``joint_trajectory``.

    Args:
        ros: Session of the test.
        aborts: Whether a goal that was replaced is aborted.
        replaces: Whether it takes a goal while one is active.
        name: Name of the action.
    """

    def __init__(self, ros, *, aborts=False, replaces=True, name='follow_joint_trajectory'):
        self._actor = Actor(ros, 'replacing_controller')
        super().__init__(self._actor.node, name)
        self._aborts, self._replaces = aborts, replaces
        self._active, self._over = False, 0
        self._publisher = self._actor.node.create_publisher(JointTrajectory, 'joint_trajectory', 10)
        self._actor.node.create_timer(0.01, self._update)

    def begin(self):
        """Take goals, in a thread of its own."""
        self._actor.begin()
        return self

    def close(self):
        """Go away."""
        self.server.destroy()
        self._actor.end()

    def take(self, handle):
        """Replace the goal under way."""
        if self._active and self._aborts:
            self.end('abort', self.kind.Result.INVALID_GOAL, 'replaced by a new goal')
        super().take(handle)
        trajectory = handle.request.trajectory
        self._publisher.publish(trajectory)
        begun = to_nanoseconds(trajectory.header.stamp) or time.time_ns()
        self._over = begun + to_nanoseconds(trajectory.points[-1].time_from_start)
        self._active = True
        self.accepts = self._replaces

    def _update(self):
        if not self._active:
            return
        taken_back = self.goals[-1].is_cancel_requested
        if taken_back:
            self._publisher.publish(JointTrajectory())
        if taken_back or time.time_ns() > self._over:
            self._active, self.accepts = False, True
            self.end('canceled' if taken_back else 'succeed')
