"""Identifies a robot unattended: the action ``~/run``, a campaign through the other nodes.

It arms, plays and records motions, fits them, and designs the next one, until the robot is known as
well as was asked for, or no motion helps. It commits nothing. Whatever ends it early, the robot is
brought to rest, and the recording ended.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from diagnostic_msgs.msg import DiagnosticStatus

from sysid_ros import action
from sysid_ros.errors import SysidError
from sysid_ros.msg import ResultCode
from sysid_ros.nodes.background import Background
from sysid_ros.nodes.campaign_settings import CampaignNodeSettings
from sysid_ros.nodes.node import SysidNode
from sysid_ros.nodes.process import run
from sysid_ros.nodes.progress import Progress
from sysid_ros.nodes.refusal import RefusedError

if TYPE_CHECKING:
    from sysid_ros.nodes.unattended_campaign import UnattendedCampaign

# Ranges of numbers of a goal: least, most, and whether the least itself is allowed.
_RANGES = {
    'torque_accuracy': (0.0, 1.0, False), 'base_accuracy': (0.0, 1.0, True),
    'most_motions': (1, 100, True), 'speed_scale': (0.0, 1.0, False),
    'first_pass': (0.0, 1.0, True),
}
_DEFAULTS = action.RunCampaign.Goal()
# Fields of a result that are those of the fit.
_OF_FIT = (
    'estimate', 'committable', 'reasons', 'next_steps', 'held_out_relative_error',
    'prior_relative_error')


class CampaignNode(SysidNode[CampaignNodeSettings]):
    """The campaign node."""

    settings_class = CampaignNodeSettings

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        self._background: Background | None = None
        # The one under way, or the last: what it said in the end is fed back when it is over.
        self._campaign: UnattendedCampaign | None = None
        super().__init__('campaign_node', arguments)

    def configure(self) -> None:
        """Offer the action."""
        self._background = Background(self)
        self._background.act(action.RunCampaign, '~/run', self._run, self._describe)

    def deactivate(self) -> None:
        """End the campaign: the robot comes to rest."""
        if self._campaign is not None and self.working():
            self._campaign.end('the node was deactivated')

    def cleanup(self) -> None:
        """End the campaign, and let its thread end."""
        self.deactivate()
        if self._background is not None:
            self._background.close()

    def working(self) -> bool:
        """Whether a campaign is under way."""
        return self._background is not None and self._background.busy

    def at_rest(self) -> bool:
        """Whether the campaign has left the robot at rest."""
        return not self.working()

    def diagnose(self) -> tuple[bytes, str, dict[str, object]]:
        """Which motion of a campaign is under way."""
        if self._campaign is None or not self.working():
            return DiagnosticStatus.OK, 'no campaign is under way', {}
        return DiagnosticStatus.OK, 'a campaign is under way', {
            'recordings': ', '.join(self._campaign.recordings)}

    async def _run(
        self, goal: action.RunCampaign.Goal, result: action.RunCampaign.Result, progress: Progress
    ) -> None:
        # Loaded where it is needed: most robots run without a campaign.
        from sysid_ros.nodes.unattended_campaign import UnattendedCampaign

        require_allowed(goal)
        assert self._background is not None  # it is configured
        campaign = self._campaign = UnattendedCampaign(self, goal, progress)
        try:
            fit = await self._background.run(campaign.run)
        finally:
            result.recordings = campaign.recordings
            _tell_accuracy(result, campaign)
        for name in _OF_FIT:
            setattr(result, name, getattr(fit, name))
        result.message = campaign.outcome
        if not campaign.reached:
            raise RefusedError(ResultCode.NOT_REACHED, SysidError(campaign.outcome.rstrip('.')))

    def _describe(self, feedback: action.RunCampaign.Feedback) -> None:
        campaign = self._campaign
        feedback.torque_accuracy = feedback.base_accuracy = math.nan
        feedback.expected_torque_accuracy = math.nan
        if campaign is None or campaign.decision is None:
            return
        decision = campaign.decision
        feedback.motion = campaign.motion
        feedback.torque_accuracy = decision.reached.torque
        feedback.base_accuracy = decision.reached.base
        if decision.expected is not None:
            feedback.expected_torque_accuracy = decision.expected.torque


def require_allowed(goal: action.RunCampaign.Goal) -> None:
    """Refuse a goal that makes no sense, or does not consent to motion.

    Args:
        goal: The goal.

    Raises:
        RefusedError: Its numbers are out of range, or ``arm`` is false.
    """
    for name, (least, most, closed) in _RANGES.items():
        value = getattr(goal, name)
        above = least <= value if closed else least < value
        if not (above and value <= most):
            raise RefusedError(ResultCode.INVALID_REQUEST, SysidError(
                'the number cannot be used', where=name, found=f'{value:g}',
                allowed=f'{"from" if closed else "above"} {least:g}, at most {most:g}',
                fix=f'Leave it out for the default, {getattr(_DEFAULTS, name):g}'))
    if not goal.arm:
        raise RefusedError(ResultCode.NOT_ARMED, SysidError(
            'a campaign arms the excitation for each of its motions, and was not allowed to',
            where='arm', found='false',
            fix='See that the way of the robot is free, and send the goal with arm: true'))


def _tell_accuracy(result: Any, campaign: UnattendedCampaign) -> None:
    """Fill in how well the robot is known after the last recording."""
    if campaign.decision is not None:
        result.torque_accuracy = campaign.decision.reached.torque
        result.base_accuracy = campaign.decision.reached.base
        result.limiting = list(campaign.decision.limiting)


def main() -> int:
    """Run the node."""
    return run(CampaignNode)


if __name__ == '__main__':
    sys.exit(main())
