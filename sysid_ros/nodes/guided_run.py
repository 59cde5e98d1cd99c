"""One run of the loop in a terminal, step by step: of one motion, or of a campaign.

Started as a process by ``sysid run``, with its settings as JSON. Whatever ends it, it stops the
motion that it has asked for.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from rclpy.node import Node

from sysid_ros.action import Excite
from sysid_ros.errors import SysidError
from sysid_ros.nodes.context import end_ros, start_ros
from sysid_ros.nodes.guided_steps import GuidedRunSettings, GuidedSteps, NamedMotion
from sysid_ros.nodes.robot_operator import Operator
from sysid_ros.nodes.terminal import Terminal

# Exit codes, as of every verb.
_DONE, _NOT_COMMITTABLE, _BAD, _INTERRUPTED = 0, 1, 2, 130
# What ends the run, and stops the robot.
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def guided_run(settings: GuidedRunSettings, operator: Operator, terminal: Terminal) -> int:
    """Go through all steps; the exit code.

    Args:
        settings: What is done.
        operator: What talks to the nodes.
        terminal: Where it is said and asked.

    Raises:
        SysidError: A step did not do what it should.
        KeyboardInterrupt: The person said no, or wants to end.
    """
    steps = GuidedSteps(settings, operator, terminal)
    terminal.say('Waiting for the nodes.')
    operator.wait_for_nodes(seconds=settings.patience)
    if settings.campaign is None:
        motion, reached = NamedMotion.of(settings.motion), True
        steps.pass_slowly(motion)
        recordings = [steps.record(motion)]
    else:
        # It loads Pinocchio and the compiled functions.
        from sysid_ros.nodes.guided_campaign import GuidedCampaign

        campaign = GuidedCampaign(settings.campaign, steps, operator, terminal)
        recordings, motion, reached = campaign.run()
    result = steps.identify(','.join(recordings))
    if not (result.committable and reached):
        return _NOT_COMMITTABLE
    if settings.commit and not steps.commit(result.estimate, motion):
        return _NOT_COMMITTABLE
    return _DONE


def tell_progress(terminal: Terminal) -> Callable[[Any], None]:
    """A callback that shows the feedback of motions and fits."""
    def show(feedback: Any) -> None:
        if isinstance(feedback, Excite.Feedback):
            terminal.progress(f'{100.0 * feedback.progress:3.0f} % played, '
                              f'{feedback.tracking_error:.2g} rad or m from the command')
        else:
            terminal.progress(f'{feedback.stage} …')

    return show


class Interruption:
    """Signals that end the run, at a moment when nothing is left in the middle.

    Attributes:
        operator: What talks to the nodes; None before there is one.
    """

    def __init__(self) -> None:
        self.operator: Operator | None = None
        self._signal = ''
        for number in _SIGNALS:
            signal.signal(number, self._handle)

    def _handle(self, number: int, _: FrameType | None) -> None:
        # The stop that follows is brought to its end, whatever is pressed meanwhile.
        for ignored in _SIGNALS:
            signal.signal(ignored, signal.SIG_IGN)
        self._signal = signal.Signals(number).name
        if self.operator is None or not self.operator.spinning:
            self.check()

    def check(self) -> None:
        """End the run if a signal has come.

        Raises:
            KeyboardInterrupt: One has, since the last look.
        """
        name, self._signal = self._signal, ''
        if name:
            raise KeyboardInterrupt(name)


def _stop(operator: Operator, terminal: Terminal) -> None:
    moving = operator.exciting
    resting = operator.stop()
    if moving:
        terminal.say('The robot is at rest.' if resting else 'The robot is not seen to be at rest.')


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the loop; returns the exit code.

    Args:
        arguments: Settings as JSON, then arguments of ROS; by default the process's.
    """
    given, *ros = sys.argv[1:] if arguments is None else list(arguments)
    settings = GuidedRunSettings.model_validate_json(given)
    interruption = Interruption()
    start_ros(ros)
    terminal = Terminal(yes=settings.yes)
    operator = interruption.operator = Operator(
        Node('operator'), settings.patience, poll=interruption.check,
        feedback=tell_progress(terminal))
    try:
        return guided_run(settings, operator, terminal)
    except SysidError as error:
        print(f'sysid run: {error}', file=sys.stderr)
        return _BAD
    except KeyboardInterrupt:
        return _INTERRUPTED
    finally:
        _stop(operator, terminal)
        end_ros([operator.node])


if __name__ == '__main__':
    sys.exit(main())
