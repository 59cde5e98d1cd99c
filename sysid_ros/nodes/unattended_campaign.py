"""A campaign for the goal of an action: nobody is asked, and what is done is fed back.

It goes the way of ``sysid run --campaign`` (:mod:`sysid_ros.nodes.guided_campaign`), in a thread
beside the executor of its node, through a client of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rclpy.node import Node

from sysid_ros.action import RunCampaign
from sysid_ros.errors import (
    ConfigurationError,
    EstimationError,
    ExcitationError,
    ModelError,
    ParameterError,
    RecordingError,
    SysidError,
)
from sysid_ros.msg import ResultCode
from sysid_ros.nodes.campaign_settings import CampaignNodeSettings
from sysid_ros.nodes.guided_steps import CampaignSettings, GuidedRunSettings, GuidedSteps
from sysid_ros.nodes.node import SysidNode
from sysid_ros.nodes.progress import Progress
from sysid_ros.nodes.refusal import RefusedError
from sysid_ros.nodes.robot_operator import Operator

if TYPE_CHECKING:
    from sysid_ros.excitation.campaign import Decision

# What errors of a step mean to a client. Nodes that do not answer raise the plain one.
_CODES: tuple[tuple[type[SysidError], str], ...] = (
    (RecordingError, ResultCode.BAD_DATA), (EstimationError, ResultCode.FAILED),
    (ExcitationError, ResultCode.NOT_SAFE), (ConfigurationError, ResultCode.INVALID_REQUEST),
    (ModelError, ResultCode.INVALID_REQUEST), (ParameterError, ResultCode.INVALID_REQUEST),
    (SysidError, ResultCode.NOT_READY),
)


class UnattendedCampaign:
    """One campaign; what it found so far may be read from any thread.

    Args:
        node: The node, which logs what is said.
        goal: What is asked for.
        progress: Is told what is done; who asked may take the goal back.

    Attributes:
        recordings: Ids of the recordings so far.
        decision: What was decided last; None before the first time.
    """

    def __init__(
        self, node: SysidNode[CampaignNodeSettings], goal: RunCampaign.Goal, progress: Progress
    ) -> None:
        self._node, self._settings = node, run_settings(goal, node.settings)
        self._progress, self._stops = progress, False
        self._stage = ''
        self.recordings: list[str] = []
        self.decision: Decision | None = None
        self.reached = False

    @property
    def motion(self) -> int:
        """Number of the motion under way, or of the last one, from 1; 0 before the first."""
        playing = self.decision is not None and self.decision.motion is not None
        return len(self.recordings) + playing

    @property
    def outcome(self) -> str:
        """What was decided last, in words."""
        return str(self.decision) if self.decision is not None else ''

    def end(self, reason: str) -> None:
        """End it as soon as the robot is at rest; from any thread.

        Args:
            reason: What its client is told.
        """
        self._progress.withdraw(RefusedError(ResultCode.STOPPED, SysidError(
            reason, fix='Activate it, and send the goal again')))

    def run(self) -> Any:
        """Go through all steps; the result of the fit of all recordings.

        Raises:
            RefusedError: A step did not do what it should, or the goal was taken back.
        """
        client = Node(
            f'_{self._node.get_name()}_client', namespace=self._node.get_namespace(),
            use_global_arguments=False, enable_rosout=False, start_parameter_services=False)
        operator = Operator(
            client, self._settings.patience, poll=self._require_wanted, feedback=self._feed_back)
        try:
            return self._identify(operator)
        except SysidError as error:
            raise _with_code(error) from error
        finally:
            self._stop(operator)
            operator.close()
            client.destroy_node()

    def _identify(self, operator: Operator) -> Any:
        self.say('Loading what designs motions.')
        # Pinocchio and the compiled functions.
        from sysid_ros.nodes.guided_campaign import GuidedCampaign

        assert self._settings.campaign is not None  # it is one
        steps = GuidedSteps(self._settings, operator, self)
        self.say('Waiting for the nodes.')
        operator.wait_for_nodes(seconds=self._settings.patience)
        campaign = GuidedCampaign(
            self._settings.campaign, steps, operator, self, decided=self._take_decision)
        recordings, _, reached = campaign.run()
        fit = steps.identify(','.join(recordings))
        self.reached = reached
        return fit

    def _stop(self, operator: Operator) -> None:
        """Bring the robot to rest and end the recording, if they are under way."""
        self._stops = True
        try:
            if not operator.stop():
                self._node.get_logger().error('The robot is not seen to be at rest.')
        except SysidError as error:
            self._node.get_logger().error(str(error))

    def _take_decision(self, decision: Decision, recordings: list[str]) -> None:
        self.decision, self.recordings = decision, list(recordings)

    def _require_wanted(self) -> None:
        """End the campaign if it is not wanted any more; a stop is brought to its end."""
        if not self._stops:
            self._progress.require_wanted()

    def _feed_back(self, feedback: Any) -> None:
        """Tell how far a motion or a fit is."""
        self._progress.tell(getattr(feedback, 'stage', '') or self._stage, feedback.progress)

    # What steps say and ask

    def say(self, text: str) -> None:
        """Log a sentence, and feed it back."""
        self._node.get_logger().info(text)
        self._stage = text
        self._progress.tell(text, 0.0)

    def require(self, action: str) -> None:
        """Say what is next; it may be done unless the goal was taken back."""
        self._progress.require_wanted()
        self.say(action)

    def progress(self, text: str) -> None:
        """Feed back what is being done just now."""
        self._progress.require_wanted()
        self._progress.tell(text, 0.0)


def run_settings(goal: RunCampaign.Goal, node: CampaignNodeSettings) -> GuidedRunSettings:
    """Settings of a guided run that stand for a goal.

    Args:
        goal: The goal, whose numbers are in range.
        node: Parameters of the node.
    """
    return GuidedRunSettings(
        campaign=CampaignSettings(
            torque=goal.torque_accuracy, base=goal.base_accuracy or None,
            most_motions=goal.most_motions, plan=node.plan, settings=node.settings,
            data_folder=node.data_folder),
        speed=goal.speed_scale, first_pass=goal.first_pass, commit=False, yes=True,
        patience=node.patience)


def _with_code(error: SysidError) -> RefusedError:
    if isinstance(error, RefusedError):
        return error
    return RefusedError(next(code for kind, code in _CODES if isinstance(error, kind)), error)
