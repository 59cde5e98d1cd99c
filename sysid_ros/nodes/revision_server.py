"""The services and the action of the model server, its store, and what it hands out.

Loads Pinocchio and the compiled functions, so that a node imports it when it is configured.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from std_msgs.msg import String

from sysid_ros import action
from sysid_ros.data_folder import DataFolder
from sysid_ros.errors import ConfigurationError, RecordingError, ReleaseError, SysidError
from sysid_ros.evaluation.shadow import Shadow, ShadowSettings
from sysid_ros.msg import IdentifiedParameters, ResultCode
from sysid_ros.nodes.background import Background
from sysid_ros.nodes.conversions import content_message, info_message
from sysid_ros.nodes.judgement_process import Judge
from sysid_ros.nodes.markers import MarkerTopic
from sysid_ros.nodes.model_server_settings import ModelServerSettings
from sysid_ros.nodes.node import LATCHED, SysidNode
from sysid_ros.nodes.progress import Progress
from sysid_ros.nodes.refusal import RefusedError
from sysid_ros.nodes.release_codes import release_codes
from sysid_ros.nodes.robot_description import published_description
from sysid_ros.nodes.robot_watch import RobotWatch
from sysid_ros.recording.live.joint_states import LiveSettings
from sysid_ros.recording.live.window import LiveWindow
from sysid_ros.release.revision import MAX_COMMENT, Content, Revision
from sysid_ros.release.store import RevisionStore
from sysid_ros.report.inertia_scene import inertia_scene
from sysid_ros.runs.commit import Preparation, initial_content, prepare
from sysid_ros.runs.sources import load_without_recording
from sysid_ros.srv import (
    AcknowledgeRevision,
    CommitParameters,
    GetRevision,
    ListRevisions,
    RollbackParameters,
)

# How often to look whether another process has committed, in [s].
_LOOK = 1.0
# How long a callback may wait for another process that writes, in [s]; commits wait longer, beside.
_PATIENCE = 0.2


class RevisionServer:
    """Offers services and action from ``configure`` of the model server to its clean-up.

    Args:
        node: The model server.

    Raises:
        SysidError: The robot cannot be loaded, or the store not be opened.
    """

    def __init__(self, node: SysidNode[ModelServerSettings]) -> None:
        self._node, settings = node, node.settings
        file = Path(settings.robot).expanduser()
        identification = load_without_recording(
            file, published_description(node, file, node.ending))
        model = identification.model()
        self._robot, node.hardware_id = model.robot, model.robot.name
        self._data = DataFolder(Path(settings.data_folder))
        self._handed_out, self._judge = '', Judge(
            recordings_required=settings.recordings_required)
        self._store = RevisionStore(self._data.revisions, patience=_PATIENCE)
        self._background = background = Background(node)
        try:
            self._damage = self._store.verify()
            if not self._damage:
                self._store.begin(_as_text(initial_content(model)))
            self._watch = RobotWatch(node, self._robot, settings.topic, LiveSettings(
                history=settings.history, rename=identification.settings.recording.rename,
            ), settings.effort_topic)
        except BaseException:
            self.close()
            raise
        self._parameters = node.advertise(
            IdentifiedParameters, '~/identified_parameters', LATCHED)
        self._markers = MarkerTopic(node, '~/inertia_markers')
        self._description = (
            node.advertise(String, '/robot_description', LATCHED)
            if settings.publish_description else None)
        background.serve(CommitParameters, '~/commit', self._commit)
        background.act(action.CommitParameters, '~/commit', self._commit)
        background.serve(RollbackParameters, '~/rollback', self._roll_back)
        node.serve(GetRevision, '~/get_revision', self._get)
        node.serve(ListRevisions, '~/list_revisions', self._list)
        node.serve(AcknowledgeRevision, '~/acknowledge', self._acknowledge)
        node.every(_LOOK, self._follow)

    def begin(self) -> None:
        """Hand the current revision out, even if it was before, and judge from now on."""
        self._judge = Judge(recordings_required=self._node.settings.recordings_required)
        if not self._damage:
            self._damage = self._store.cut_off(self._handed_out)
        if self._damage:
            self._complain_of_damage()
        else:
            self._hand_out(self._current())

    def end(self) -> None:
        """Give up what is being judged."""
        self._judge.end()

    def close(self) -> None:
        """Let go of the store."""
        self._background.close()
        self._store.close()

    @property
    def busy(self) -> bool:
        """Whether it commits or rolls back."""
        return self._background.busy

    def diagnose(self) -> tuple[bytes, str, dict[str, object]]:
        """The current revision, who runs another one, and what is wrong with the store."""
        values: dict[str, object] = {'store': self._store.path, 'revision': self._handed_out}
        if self._damage:
            return DiagnosticStatus.ERROR, ' '.join(self._damage), values
        try:
            outdated = self._consumers(self._handed_out)[1]
        except ReleaseError as error:
            return DiagnosticStatus.ERROR, str(error), values
        problem = self._watch.problem()
        if problem:
            return DiagnosticStatus.ERROR, problem, values
        if outdated and self._handed_out:
            return DiagnosticStatus.WARN, _outdated(outdated), values
        return DiagnosticStatus.OK, f'revision {self._handed_out} is handed out', values

    # Services

    async def _commit(self, request: Any, response: Any, progress: Progress) -> None:
        folder = self._granted(request)
        if not request.pending:
            self._watch.require_rest(self._node.settings.rest_velocity)
        window = self._watch.window()
        progress.tell('Reading the estimate', 0.0)
        prepared = await self._beside(
            functools.partial(prepare, shadowed=request.shadow_duration > 0.0),
            self._data.revisions, request.estimate, folder, self._robot,
            functools.partial(self._judge, progress=progress))
        response.kept = list(prepared.content.kept)
        if prepared.is_current:
            self._answer(response, prepared.current, (
                f'Revision {prepared.current.id}, the current one, holds it already.',))
            return
        said: tuple[str, ...] = (prepared.judgement,)
        if request.shadow_duration > 0.0:
            progress.require_wanted()
            progress.tell('Predicting the last motion beside the current revision', 0.7)
            said = (*said, await self._shadow(
                prepared, window, request.shadow_duration, response))
        if not request.pending:
            # The robot may have begun to move meanwhile.
            self._watch.require_rest(self._node.settings.rest_velocity)
        progress.make_final()
        progress.tell('Writing the revision', 0.95)
        revision = await self._beside(
            _commit_to, self._data.revisions, prepared, request.comment)
        self._hand_out(revision)
        self._answer(response, revision, (
            f'{request.estimate} is revision {revision.id}.', *said, *revision.content.notes))

    async def _shadow(
        self, prepared: Preparation, window: LiveWindow, duration: float, response: Any
    ) -> str:
        """Let the estimate predict what the robot measured; what came of it, in words."""
        given = self._node.settings
        settings = ShadowSettings(
            least_motion=given.shadow_least_motion, velocity=given.shadow_velocity)
        try:
            shadow: Shadow = await self._beside(
                prepared.fit.shadow, prepared.content, prepared.current.content.parameters,
                window, duration, settings)
        except RecordingError as error:
            raise RefusedError(ResultCode.SHADOW_LOST, error) from error
        response.candidate_error = shadow.candidate.relative_error
        response.current_error = shadow.current.relative_error
        if not shadow.won:
            raise RefusedError(ResultCode.SHADOW_LOST, SysidError(
                shadow.sentence.rstrip('.'),
                fix='Keep the current revision, or identify again with more varied motion'))
        return shadow.sentence

    async def _roll_back(self, request: Any, response: Any, progress: Progress) -> None:
        self._require_sound(request.comment)
        progress.make_final()
        revision = await self._beside(
            _roll_back_in, self._data.revisions, request.revision, request.comment)
        self._hand_out(revision)
        self._answer(response, revision, (
            f'Revision {revision.id} holds what {revision.restored} held.',))

    def _get(self, request: Any, response: Any) -> None:
        with release_codes():
            revision = self._store.get(request.revision) if request.revision else self._current()
            response.info = info_message(revision, self._store.current_id())
            response.parameters = content_message(self._robot, revision.content, revision.id)
            response.description = revision.content.description.decode()
            response.acknowledged, response.outdated = self._consumers(revision.id)

    def _list(self, request: Any, response: Any) -> None:
        with release_codes():
            current = self._store.current_id()
            response.revisions = [
                info_message(revision, current) for revision in self._store.newest(request.limit)]

    def _acknowledge(self, request: Any, response: Any) -> None:
        with release_codes():
            self._store.acknowledge(request.consumer, request.revision)

    # Parts of services

    def _granted(self, request: Any) -> Path:
        """Folder of the estimate that is to be committed, if the request makes sense."""
        self._require_sound(request.comment)
        duration, longest = request.shadow_duration, self._node.settings.history
        if not 0.0 <= duration <= longest:
            raise RefusedError(ResultCode.INVALID_REQUEST, SysidError(
                'no such time of the last motion is kept', where='shadow_duration',
                found=f'{duration:g} s', allowed=f'0 to {longest:g} s',
                fix='Ask for less, or set the parameter history of this node'))
        if 0.0 < duration < self._node.settings.shadow_least_motion:
            raise RefusedError(ResultCode.INVALID_REQUEST, SysidError(
                'a shadow test takes longer', where='shadow_duration', found=f'{duration:g} s',
                allowed=f'0 for none, or from {self._node.settings.shadow_least_motion:g} s on',
                fix='Ask for more, or set the parameter shadow_least_motion of this node'))
        folder = self._data.estimate(request.estimate)
        if not folder.is_dir():
            raise RefusedError(ResultCode.UNKNOWN_ID, SysidError(
                'there is no such estimate', found=repr(request.estimate),
                fix='Take an id that Identify gave'))
        return folder

    def _require_sound(self, comment: str) -> None:
        if self._damage:
            raise RefusedError(ResultCode.STORAGE, SysidError(
                ' '.join(self._damage).rstrip('.'), where=str(self._store.path),
                fix='Nothing is written to a damaged store: restore it from a copy, then clean up '
                'and configure this node'))
        if len(comment) > MAX_COMMENT:
            raise RefusedError(ResultCode.INVALID_REQUEST, SysidError(
                'the comment is too long', found=len(comment), allowed=MAX_COMMENT,
                fix='Say it shorter'))

    async def _beside(self, work: Any, *arguments: Any) -> Any:
        """Do something beside the executor; what it refuses is refused with its code."""
        if not self._node.active:
            # Between two steps; what has been committed is committed.
            raise RefusedError(ResultCode.NOT_ACTIVE, SysidError(
                'the node was deactivated', fix='Activate it, and ask again'))
        with release_codes():
            return await self._background.run(work, *arguments)

    def _answer(self, response: Any, revision: Revision, said: tuple[str, ...]) -> None:
        response.revision = revision.id
        response.outdated = self._consumers(revision.id)[1]
        response.message = ' '.join((*said, _outdated(response.outdated))).strip()

    # Revisions and consumers

    def _current(self) -> Revision:
        current = self._store.current()
        if current is None:
            raise ReleaseError(
                'the store is empty', where=str(self._store.path),
                fix='Commit an estimate first, by ~/commit')
        return current

    def _hand_out(self, revision: Revision) -> None:
        self._handed_out = revision.id
        self._parameters.publish(content_message(self._robot, revision.content, revision.id))
        if self._description is not None:
            self._description.publish(String(data=revision.content.description.decode()))
        # What is drawn of it is no reason against a revision.
        self._node.guarded(self._show)(revision.content)
        self._node.get_logger().info(f'revision {revision.id} is handed out')

    def _show(self, content: Content) -> None:
        # The first revision holds what the description says, and no estimate.
        identified = content.parameters if content.estimate else None
        self._markers.show(inertia_scene(self._robot, identified))

    def _follow(self) -> None:
        """Hand out what another process has committed, unless the store has lost what was."""
        if not self._node.active or self._damage:
            return
        self._damage = self._store.cut_off(self._handed_out)
        if self._damage:
            self._complain_of_damage()
        elif self._store.current_id() != self._handed_out:
            self._hand_out(self._current())

    def _complain_of_damage(self) -> None:
        """Say it once; the node stays in this state until it is configured again."""
        self._node.complain(ReleaseError(
            f'the store is damaged: {" ".join(self._damage).rstrip(".")}',
            where=str(self._store.path), fix='Nothing is handed out or written: restore it '
            'from a copy, or move it away to begin a new one; then clean up and configure this '
            'node'))

    def _consumers(self, revision: str) -> tuple[list[str], list[str]]:
        """Who has acknowledged a revision, and who runs or may run another one."""
        known = self._store.acknowledgements()
        listening = {
            f'{info.node_namespace.rstrip("/")}/{info.node_name}'
            for info in self._node.get_subscriptions_info_by_topic(self._parameters.topic_name)
            # Hidden nodes, like that of `ros2 topic echo`, look on and run nothing.
            if not info.node_name.startswith('_')
        }
        consumers = sorted({*known, *listening})
        return (
            [name for name in consumers if known.get(name) == revision],
            [name for name in consumers if known.get(name) != revision],
        )


def _commit_to(store: Path, prepared: Preparation, comment: str) -> Revision:
    with RevisionStore(store) as revisions:
        return revisions.commit(prepared.content, prepared.fit.base, comment)


def _roll_back_in(store: Path, revision: str, comment: str) -> Revision:
    with RevisionStore(store) as revisions:
        current = revisions.current()
        if revision and current is not None and current.restored == revision:
            # Asked for again by who got no answer.
            return current
        return revisions.rollback(revision, comment)


def _as_text(content: Content) -> Content:
    """A content whose description a message can hold byte for byte."""
    try:
        content.description.decode()
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f'the robot description is not UTF-8, as texts of ROS are: {error}',
            fix='Convert it, and change its declaration of the encoding') from error
    return content


def _outdated(consumers: list[str]) -> str:
    return f'Another revision still runs in {", ".join(consumers)}.' if consumers else ''
