"""Parameters of the nodes for a robot that runs, guessed from what its system offers."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sysid_ros.errors import ConfigurationError, did_you_mean, listed
from sysid_ros.recording.guess.evidence import Finding, OpenQuestionsError, Question
from sysid_ros.runs.initial_settings import InitialSettings
from sysid_ros.runs.robot_graph import (
    ARRAY,
    FOLLOW_JOINT_TRAJECTORY,
    JOINT_TRAJECTORY,
    CommandInterface,
    JointStateTopic,
    RobotGraph,
)

#: What may be known of a running robot, by the name of the option: placeholder, and what it is.
NODE_OPTIONS: Mapping[str, tuple[str, str]] = {
    'joint-states': ('TOPIC', 'topic of the joint states'),
    'effort-topic': ('TOPIC', 'topic of the efforts; none: nobody publishes any'),
    'command': ('NAME', 'action or topic that the robot is moved by; none: it is moved by hand'),
    'command-kind': ('KIND', 'what goes to a topic of numbers: position or effort'),
}
_HEADING = (
    'Parameters of the nodes for one robot, for identify.launch.py robot:=<this file>. Comments',
    'say what was seen of the running system: correct what is wrong. Parameters that are left',
    'out have the defaults of config/<node>.yaml.')
_LONGEST_LINE = 98
_NONE = 'none'
_NODES = (
    'excitation_node', 'monitor_node', 'identification_node', 'model_server', 'panel_node')
# Ticks of the excitation node in [Hz]: usual, and least.
_USUAL_RATE, _LEAST_RATE = 200.0, 20.0
# Longest silence of joint states in [s]: usual, most, and least in periods.
_TIMEOUT, _LONGEST, _PERIODS = 0.1, 1.0, 5.0
_OUTPUT_OF = {FOLLOW_JOINT_TRAJECTORY: 'follow_joint_trajectory', JOINT_TRAJECTORY: 'trajectory'}
_ARRAY_OUTPUTS = ('position', 'effort')


@dataclass
class InitialParameters:
    """A file of parameters on its way.

    Attributes:
        graph: What was seen.
        told: What is known, by the names of :data:`NODE_OPTIONS`.
        parameters: By node.
        findings: What was guessed, and why.
        questions: What is open.
        namespace: Where the robot's description is, for the nodes to run in.
    """

    graph: RobotGraph
    told: Mapping[str, str]
    parameters: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {node: {} for node in _NODES})
    findings: list[Finding] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    namespace: str = ''

    @classmethod
    def of(cls, graph: RobotGraph, told: Mapping[str, str]) -> InitialParameters:
        """Guess the parameters of the nodes.

        Args:
            graph: What was seen of the running system.
            told: What is known, by the names of :data:`NODE_OPTIONS`.

        Raises:
            OpenQuestionsError: Several topics or controllers fit, or none is known to.
            ConfigurationError: Nobody publishes joint states, or there is no such topic.
        """
        guess = cls(graph, told)
        states = guess._joint_states()
        if states is not None:
            guess._add_joint_states(states)
            guess._add_efforts(states)
            guess._add_command(states)
        if guess.questions:
            raise OpenQuestionsError(guess.questions, 'the running system')
        guess._add_description()
        guess._note_own_nodes()
        return guess

    def text(self) -> str:
        """The file, with the evidence as comments."""
        sections = {
            f'/**/{node}': {'ros__parameters': own} for node, own in self.parameters.items() if own}
        said = [
            line for one in self.findings for line in textwrap.wrap(
                f'{one.subject}: {one.value} ({one.evidence})', _LONGEST_LINE,
                subsequent_indent='  ', break_on_hyphens=False)]
        return InitialSettings([*_HEADING, *said], sections).text()

    def _note(self, subject: str, value: str, evidence: str) -> None:
        self.findings.append(Finding(subject, value, evidence))

    def _set(self, nodes: Sequence[str], **values: Any) -> None:
        for node in nodes:
            self.parameters[node].update(values)

    def _joint_states(self) -> JointStateTopic | None:
        """The topic of the joint states; None where it is asked for."""
        topics = self.graph.joint_states
        told = self.told.get('joint-states')
        if told is not None:
            return _named(told, topics, 'joint-states')
        heard = [topic for topic in topics if topic.positions]
        if not topics or not heard:
            raise ConfigurationError(
                'nobody publishes joint states', where='the running system',
                found=f'{listed(topic.name for topic in topics)}, but no position on it within '
                f'{self.graph.seconds:g} s' if topics
                else f'no topic of sensor_msgs/JointState among {len(self.graph.nodes)} nodes',
                fix='Start the driver of the robot, or with ros2_control: ros2 control '
                'load_controller --set-state active joint_state_broadcaster; mind ROS_DOMAIN_ID')
        whole = _widest(heard)
        if len(whole) == 1:
            return whole[0]
        self.questions.append(Question(
            'joint-states', 'Which topic has the joint states of the robot?',
            '; '.join(map(_said, whole)), whole[0].name))
        return None

    def _add_joint_states(self, states: JointStateTopic) -> None:
        self._set(('identification_node', 'model_server'), topic=states.name)
        self._set(('excitation_node', 'monitor_node', 'panel_node'), joint_states=states.name)
        self._note('states', states.name, _said(states))
        if not states.rate:
            self._note('states', 'rate unknown', f'silent for {self.graph.seconds:g} s')
            return
        rate = min(_USUAL_RATE, max(_LEAST_RATE, float(round(states.rate))))
        self._set(('excitation_node',), rate=rate)
        if states.rate < _PERIODS / _TIMEOUT:
            timeout = min(_LONGEST, math.ceil(100.0 * _PERIODS / states.rate) / 100.0)
            self._set(('excitation_node', 'monitor_node'), state_timeout=timeout)
            self._note(
                'states', f'state_timeout {timeout:g} s', f'five periods of {states.rate:.3g} Hz')
        if states.rate < _PERIODS / _LONGEST:
            self._note(
                'states', 'too slow to move the robot by', 'the nodes take a silence of 1 s at '
                'most, and five periods are longer: let the driver publish more often')

    def _add_efforts(self, states: JointStateTopic) -> None:
        """The topic of the efforts, where joint states have none."""
        told = self.told.get('effort-topic')
        if told not in (None, _NONE):
            own = _named(told or '', self.graph.joint_states, 'effort-topic')
            self._take_efforts(own)
        elif states.efforts or told == _NONE:
            self._note('efforts', 'with the joint states' if states.efforts else 'none', (
                f'{states.name} has them' if states.efforts else '--effort-topic none'))
        else:
            others = [
                topic for topic in self.graph.joint_states
                if topic.efforts and topic is not states
                and set(topic.joints) & set(states.joints)]
            if len(others) == 1:
                self._take_efforts(others[0])
                return
            found = '; '.join(map(_said, others)) or (
                f'{states.name} has no efforts, or zeros, and no other topic has any: the driver '
                'has to publish torques or currents, as sensor_msgs/JointState')
            self.questions.append(Question(
                'effort-topic', 'Which topic has the efforts of these joints?', found,
                others[0].name if others else _NONE))

    def _take_efforts(self, topic: JointStateTopic) -> None:
        self._set(('identification_node', 'model_server'), effort_topic=topic.name)
        self._note('efforts', topic.name, _said(topic))

    def _add_command(self, states: JointStateTopic) -> None:
        """What the robot is moved by."""
        self._set(('monitor_node',), watch=['excitation_node'])
        told = self.told.get('command')
        if told == _NONE:
            self._note('command', 'none: the excitation node moves nothing', '--command none')
            return
        offers = [
            offer for offer in self.graph.commands
            if not offer.joints or set(offer.joints) & set(states.joints)]
        if told is not None:
            self._take_command(_named(told, offers, 'command'))
            return
        best = _preferred(offers)
        if len(best) == 1:
            self._take_command(best[0])
            return
        found = '; '.join(map(_offer_said, best)) or (
            'no FollowJointTrajectory action, no topic of JointTrajectory and none of '
            'Float64MultiArray that a controller takes: start one, as ros2 control '
            'load_controller --set-state active joint_trajectory_controller')
        self.questions.append(Question(
            'command', 'Which action or topic is the robot moved by?', found,
            best[0].name if best else _NONE))

    def _take_command(self, offer: CommandInterface) -> None:
        output = _OUTPUT_OF.get(offer.kind, offer.interface)
        if offer.kind == JOINT_TRAJECTORY and offer.name.endswith('/reference'):
            # A controller of this package, whose silence stops the robot.
            output = 'reference'
            self._set(('monitor_node',), watch=[
                'excitation_node', offer.node.rpartition('/')[2]])
        told = self.told.get('command-kind')
        if offer.kind == ARRAY:
            output = told or output
            if output not in _ARRAY_OUTPUTS:
                self.questions.append(Question(
                    'command-kind', f'What does {offer.name} take, position or effort?',
                    f'{_offer_said(offer)}; an array of numbers does not say what they are',
                    'position'))
                return
        elif told is not None and told != output:
            raise ConfigurationError(
                'is not what this takes', where='--command-kind', found=told, allowed=output,
                fix=f'Leave it out: {offer.name} is of {offer.kind}')
        self._set(('excitation_node',), output=output, command=offer.name)
        self._note('command', f'{output} to {offer.name}', _offer_said(offer))
        controller = [
            other for other in self.graph.commands if other.node == offer.node]
        actions = [one.name for one in controller if one.kind == FOLLOW_JOINT_TRAJECTORY]
        topics = [one.name for one in controller if one.kind == JOINT_TRAJECTORY]
        if actions:
            self._set(('monitor_node',), cancel_actions=actions)
        if topics:
            self._set(('monitor_node',), trajectory_topics=topics)
        stops = [*actions, *topics]
        self._note(
            'stop', listed(stops) or 'by the stream alone',
            f'the monitor stops {offer.node} by it' if stops
            else f'{offer.node} takes no trajectory that the monitor could send')

    def _add_description(self) -> None:
        """Who publishes the description, and in which namespace."""
        found = self.graph.descriptions
        if not found:
            self._note(
                'description', 'not found', 'nobody publishes robot_description: start '
                'robot_state_publisher, or name the file in both settings files, as '
                'robot: {urdf: robot.urdf}')
            return
        states = self.parameters['identification_node']['topic'].rpartition('/')[0]
        own = [one for one in found if one.name.rpartition('/')[0] == states] or list(found)
        self.namespace = own[0].name.rpartition('/')[0].strip('/')
        self._note(
            'description', own[0].name, f'from {listed(own[0].publishers)}; settings files need '
            'name no urdf')
        if own[0].frame_prefix:
            self._set(('excitation_node', 'identification_node', 'model_server'),
                      frame_prefix=own[0].frame_prefix)
            self._note('frames', own[0].frame_prefix, 'frame_prefix of that node')
        if len(own) > 1:
            self._note(
                'description', f'{listed(one.name for one in own[1:])} left out',
                'of other robots, it seems: launch the nodes with their namespace for those')

    def _note_own_nodes(self) -> None:
        running = [name for name in self.graph.nodes if name.rpartition('/')[2] in _NODES]
        if running:
            self._note(
                'nodes', f'{listed(running)} run already', 'there is one node of a name: stop '
                'them before the launch, or use another namespace')


def _named(name: str, known: Sequence[Any], option: str) -> Any:
    """A topic or action that was told.

    Raises:
        ConfigurationError: There is none of that name.
    """
    for one in known:
        if one.name.lstrip('/') == name.lstrip('/'):
            return one
    names = [one.name for one in known]
    raise ConfigurationError(
        'there is no such topic or action', where=f'--{option}', found=repr(name),
        allowed=listed(names) or None, fix=did_you_mean(name, names) or 'Start what offers it')


def _widest(topics: Sequence[JointStateTopic]) -> list[JointStateTopic]:
    """Topics of which none has all joints that another one has, but as many with efforts."""
    return [
        topic for topic in topics if not any(
            (set(topic.joints), topic.efforts) != (set(other.joints), other.efforts)
            and set(topic.joints) <= set(other.joints) and topic.efforts <= other.efforts
            for other in topics if other is not topic)]


def _preferred(offers: Sequence[CommandInterface]) -> list[CommandInterface]:
    """Actions before topics of the same controllers, trajectories before streams of numbers."""
    for kind in (FOLLOW_JOINT_TRAJECTORY, JOINT_TRAJECTORY, ARRAY):
        own = [offer for offer in offers if offer.kind == kind]
        if own:
            return own
    return []


def _said(topic: JointStateTopic) -> str:
    """A topic of joint states in words."""
    rate = f'{topic.rate:.{0 if topic.rate >= _LEAST_RATE else 1}f} Hz' if topic.rate else 'silent'
    joints = f'{len(topic.joints)} joints: {listed(topic.joints, 7)}' if topic.joints else 'empty'
    return (f'{topic.name} at {rate}, {joints}, {"with" if topic.efforts else "without"} efforts, '
            f'from {listed(topic.publishers) or "nobody"}')


def _offer_said(offer: CommandInterface) -> str:
    """What a robot may be moved by, in words."""
    moves = f', moves {listed(offer.joints, 7)}' if offer.joints else ''
    return f'{offer.name} ({offer.kind.rpartition("/")[2]}) of {offer.node}{moves}'
