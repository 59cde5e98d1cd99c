"""A campaign through running nodes: play, record, fit, design the next motion, until it is known.

Loads Pinocchio and the compiled functions, which a run of one motion does not need.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rcl_interfaces.srv import GetParameters

from sysid_ros.data_folder import DataFolder
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.campaign import Campaign
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.excitation.campaign import Decision, Outcome, WantedAccuracy
from sysid_ros.excitation.configuration import ExcitationPlan
from sysid_ros.excitation.files import excitation_yaml
from sysid_ros.nodes.guided_steps import CampaignSettings, GuidedSteps, NamedMotion
from sysid_ros.nodes.robot_description import published_description
from sysid_ros.nodes.robot_operator import Operator
from sysid_ros.nodes.terminal import Listener
from sysid_ros.runs.sources import load_source, load_without_recording


class GuidedCampaign:
    """Motions one after another, each of which shows what the recordings before it did not.

    Args:
        settings: When it ends, and where things are.
        steps: What plays and records a motion.
        operator: What talks to the nodes.
        terminal: Where it is said what is decided.
        decided: Is told each decision, and ids of the recordings that it rests on.
    """

    def __init__(
        self, settings: CampaignSettings, steps: GuidedSteps, operator: Operator,
        terminal: Listener,
        decided: Callable[[Decision, list[str]], None] = lambda decision, recordings: None,
    ) -> None:
        self._settings, self._steps = settings, steps
        self._operator, self._terminal = operator, terminal
        self._decided = decided

    def run(self) -> tuple[list[str], NamedMotion, bool]:
        """Ids of the recordings, the last motion, and whether the accuracy is reached.

        Raises:
            SysidError: A step did not do what it should, or no motion is needed or possible.
            KeyboardInterrupt: The person said no, or wants to end.
        """
        given, folder = self._settings, self._data_folder()
        settings, plan = self._file('settings'), self._file('plan')
        self._terminal.say('Designing the first motion.')
        campaign = Campaign(
            FitSetup.of(load_without_recording(settings, self._description(settings))),
            ExcitationPlan.load(plan, self._description(plan)).designer(),
            WantedAccuracy(given.torque, given.base), given.most_motions)
        decision, recordings = campaign.begin(self._show), list[str]()
        last: NamedMotion | None = None
        self._decided(decision, recordings)
        while decision.motion is not None:
            self._terminal.say(str(decision))
            last = NamedMotion(
                f'motion {len(recordings) + 1} of at most {given.most_motions}',
                {'motion_yaml': excitation_yaml(decision.motion)})
            if not recordings:
                self._steps.pass_slowly(last)
            recordings.append(self._steps.record(last))
            self._terminal.say('Fitting what was recorded so far, and designing what is missing.')
            decision = campaign.step(
                load_source(folder.recording(recordings[-1])).recording(), self._show)
            self._decided(decision, recordings)
        return recordings, self._require_motion(last, decision), self._ends(decision)

    def _ends(self, decision: Decision) -> bool:
        self._terminal.say(str(decision))
        return decision.outcome is Outcome.REACHED

    def _require_motion(self, last: NamedMotion | None, decision: Decision) -> NamedMotion:
        if last is None:
            raise ConfigurationError(
                'there is nothing to play', found=str(decision),
                fix='Ask for less error, or identify from one motion: sysid run MOTION')
        return last

    def _show(self, number: int, cost: float, best: float) -> None:
        self._terminal.progress(f'beginning {number + 1} of the search for a motion …')

    # What the nodes work with

    def _description(self, file: Path) -> str:
        """The description that the nodes have heard, where a file names none."""
        return published_description(self._operator.node, file)

    def _file(self, key: str) -> Path:
        node = {'plan': 'excitation_node', 'settings': 'identification_node'}[key]
        path = Path(getattr(self._settings, key) or self._parameter(node, key)).expanduser()
        if not path.is_file():
            raise ConfigurationError(
                f'a campaign reads the file that {node} works with, and it is not here',
                found=str(path), where=key,
                fix=f'Run it on the computer and in the folder of the nodes, or name it: --{key}')
        return path

    def _data_folder(self) -> DataFolder:
        root = Path(self._settings.data_folder or self._parameter(
            'identification_node', 'data_folder')).expanduser()
        if not root.is_dir():
            raise ConfigurationError(
                'a campaign reads the recordings of identification_node, and they are not here',
                found=str(root), where='data_folder',
                fix='Run it on the computer and in the folder of the nodes, or name it: '
                '--data-folder')
        return DataFolder(root)

    def _parameter(self, node: str, name: str) -> str:
        answer = self._operator.ask(GetParameters, f'{node}/get_parameters', names=[name])
        return str(answer.values[0].string_value) if answer.values else ''
