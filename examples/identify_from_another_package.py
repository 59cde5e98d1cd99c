"""Identify a robot from a node of your own: record, fit, and commit if the verdict allows it.

    python identify_from_another_package.py 20     (while the robot moves for 20 s)

Nothing of sysid_ros but its interfaces is needed.
"""

import sys
import time
from typing import Any

import rclpy
from rclpy.action import ActionClient
from rclpy.node import Node

from sysid_ros.action import Identify
from sysid_ros.msg import ResultCode
from sysid_ros.srv import CommitParameters, StartIdentification, StopIdentification


class Client(Node):
    """Calls services and actions, one after the other."""

    def __init__(self) -> None:
        super().__init__('identification_client')

    def call(self, kind: Any, name: str, patience: float = 60.0, **fields: Any) -> Any:
        """Ask a service until its node is ready; a refusal ends the program with the reason."""
        client = self.create_client(kind, name)
        client.wait_for_service()
        deadline = time.monotonic() + patience
        while True:
            future = client.call_async(kind.Request(**fields))
            rclpy.spin_until_future_complete(self, future)
            answer = future.result()
            if answer.success:
                return answer
            if answer.code != ResultCode.NOT_READY or time.monotonic() > deadline:
                sys.exit(f'{name}: {answer.code}: {answer.message}')
            time.sleep(0.5)

    def identify(self, recording: str) -> Identify.Result:
        """Fit a recording; the result comes with the verdict."""
        client = ActionClient(self, Identify, 'identification_node/identify')
        client.wait_for_server()
        goal = client.send_goal_async(
            Identify.Goal(recording=recording),
            feedback_callback=lambda message: print(message.feedback.stage))
        rclpy.spin_until_future_complete(self, goal)
        result = goal.result().get_result_async()
        rclpy.spin_until_future_complete(self, result)
        return result.result().result


def main() -> None:
    """Record for so many seconds, fit, commit."""
    rclpy.init()
    client = Client()
    recording = client.call(StartIdentification, 'identification_node/start').recording
    time.sleep(float(sys.argv[1]))
    stopped = client.call(StopIdentification, 'identification_node/stop')
    print(f'{stopped.samples} samples in {stopped.duration:.1f} s, {stopped.dropped} dropped')

    result = client.identify(recording)
    if not result.success:
        sys.exit(f'{result.code}: {result.message}')
    print(f'torques are predicted with {100 * result.held_out_relative_error:.1f} % error, '
          f'by the description with {100 * result.prior_relative_error:.1f} %')
    if not result.committable:
        sys.exit('\n'.join([*result.reasons, *result.next_steps]))

    commit = client.call(CommitParameters, 'model_server/commit', estimate=result.estimate)
    print(commit.message)
    client.destroy_node()
    rclpy.shutdown()


if __name__ == '__main__':
    main()
