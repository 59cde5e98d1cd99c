"""What all nodes of this package share: lifecycle, services that answer, heartbeat, diagnostics.

A node is thin. Its callbacks hand over to code that knows nothing of ROS, and its timers look
what has become of it. Exceptions end nowhere else than here: they are logged, shown on
``/diagnostics``, and answered where somebody waits for an answer.
"""

from __future__ import annotations

import functools
import gc
import inspect
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription

from sysid_ros.errors import SysidError
from sysid_ros.msg import Heartbeat, ResultCode
from sysid_ros.nodes.activation import Activation
from sysid_ros.nodes.answers import fill_answer
from sysid_ros.nodes.fast_lane import FastLane, PolledSubscription, watched
from sysid_ros.nodes.parameters import NodeParameters
from sysid_ros.nodes.priority import take_priority
from sysid_ros.nodes.refusal import RefusedError
from sysid_ros.nodes.schedule import Recurring, Schedule
from sysid_ros.nodes.settings import NodeSettings
from sysid_ros.nodes.sole_node import SoleNode

Settings = TypeVar('Settings', bound=NodeSettings)

HEARTBEAT_TOPIC = 'sysid/heartbeat'
STOP_TOPIC = 'sysid/stop'
HEARTBEAT_PERIOD = 0.05
_DIAGNOSTICS_PERIOD = 1.0
#: How long actions keep a result for who asks late, in [s].
RESULTS_KEPT = 600

#: Sent once to whoever listens, and to whoever comes later.
LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
#: Every message counts, and there are few.
RELIABLE = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
#: The newest counts: to send a lost one again would hold up those that come after it.
STREAM = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)


class SysidNode(LifecycleNode, Generic[Settings]):
    """A lifecycle node with settings.

    A node fills :meth:`configure`, :meth:`activate`, :meth:`deactivate` and :meth:`cleanup`,
    which raise ``SysidError`` where they cannot; topics, services and timers are made in
    :meth:`configure` by the methods of this class, and are gone after :meth:`cleanup`.

    It becomes active when :meth:`loading` says that nothing is missing: no callback waits for that.

    Args:
        name: Name of the node, unless it is remapped.
        arguments: Remappings and parameters of this node alone, as after ``--ros-args``; those of
            the process hold for all of its nodes.

    Attributes:
        activation: When it becomes active.
        lane: Its fast lane, where it has one.
        hardware_id: What its diagnostics are about: the name of the robot, from when it is loaded.
        ending: Whether the process is to end, so that a callback which waits gives up.
    """

    #: Settings class whose fields are the node's parameters.
    settings_class: ClassVar[type[NodeSettings]]
    #: Whether it tells a robot where to go, so that no callback of another node may delay its own.
    moves_robot: ClassVar[bool] = False

    def __init__(self, name: str, arguments: Sequence[str] = ()) -> None:
        # Before all else: nodes whose parameters are refused are destroyed, too.
        self._sole = SoleNode(self, HEARTBEAT_TOPIC)
        super().__init__(name, cli_args=['--ros-args', *arguments] if arguments else None)
        self._parameters_: NodeParameters[Any] = NodeParameters(
            self, self.settings_class, self._locked, self.apply_settings)
        self._entities: list[tuple[Callable[[Any], bool], Any]] = []
        self._fault, self._priority, self.hardware_id = '', 0, ''
        self._schedule = Schedule(self)
        self.lane: FastLane | None = None
        self.ending: Callable[[], bool] = lambda: False
        self._heartbeat = self.create_publisher(Heartbeat, HEARTBEAT_TOPIC, RELIABLE)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', RELIABLE)
        self.create_timer(HEARTBEAT_PERIOD, self.guarded(self._beat))
        self.create_timer(_DIAGNOSTICS_PERIOD, self.guarded(self.report))
        self.activation = Activation(self)

    # What a node fills in

    def configure(self) -> None:
        """Take the settings, load what is needed, make topics, services and timers."""

    def load(self) -> None:
        """Begin to load, beside the executor, what :meth:`activate` needs and is not there."""

    def loading(self) -> str:
        """What is being loaded, in words; empty when :meth:`activate` may be called."""
        return ''

    def activate(self) -> None:
        """Begin to grant requests."""

    def deactivate(self) -> None:
        """Come to rest; requests are refused from now on."""

    def cleanup(self) -> None:
        """Let go of what :meth:`configure` loaded."""

    def locked(self) -> str:
        """Why no parameter must change now; empty when live ones may."""
        return ''

    def apply_settings(self) -> None:
        """Let parameters hold that have changed while the node was configured."""

    def working(self) -> bool:
        """Whether it moves, records or fits."""
        return False

    def at_rest(self) -> bool:
        """Whether the process may end. Asked after :meth:`deactivate`, for a bounded time."""
        return True

    def diagnose(self) -> tuple[bytes, str, dict[str, object]]:
        """Level of ``DiagnosticStatus``, one sentence, and values by name."""
        return DiagnosticStatus.OK, 'all is well', {}

    # What a node uses

    @property
    def subscriptions(self) -> Iterator[Subscription[Any]]:
        """Those that an executor waits for."""
        return watched(super().subscriptions)

    @property
    def settings(self) -> Settings:
        """The parameters that hold now."""
        return self._parameters_.settings

    @property
    def active(self) -> bool:
        """Whether requests are granted."""
        return bool(self._state_machine.current_state[1] == 'active')

    @property
    def inactive(self) -> bool:
        """Whether it is configured, and could be activated."""
        return bool(self._state_machine.current_state[1] == 'inactive')

    @property
    def configured(self) -> bool:
        """Whether its topics and services are there."""
        return bool(self._state_machine.current_state[1] in ('active', 'inactive'))

    def require_active(self) -> None:
        """Refuse a request that only an active node grants.

        Raises:
            RefusedError: The node is not active, or not yet.
        """
        if self.active:
            return
        name = self.get_fully_qualified_name()
        if self.activation.pending:
            raise RefusedError(ResultCode.NOT_READY, SysidError(
                f'{name} is not ready yet', found=self.loading() or 'it is being activated',
                fix='Ask again when its lifecycle state is active'))
        raise RefusedError(ResultCode.NOT_ACTIVE, SysidError(
            f'{name} is not active', found=self._state_machine.current_state[1],
            fix='Activate it first'))

    def guarded(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """A callback whose exceptions are reported and end nothing else."""
        @functools.wraps(callback)
        def safe(*arguments: Any) -> Any:
            try:
                return callback(*arguments)
            except Exception as error:  # noqa: BLE001 (nothing may end the executor)
                self.complain(error)
                return None

        return safe

    def complain(self, error: BaseException) -> None:
        """Log an exception and show it on ``/diagnostics``."""
        expected = isinstance(error, SysidError)
        self._fault = str(error) if expected else f'{type(error).__name__}: {error}'
        self.get_logger().error(self._fault)
        if not expected:
            import traceback  # noqa: PLC0415 (only where something is broken)

            self.get_logger().error(''.join(traceback.format_exception(error)))
        self.report()

    def absolute_name(self, name: str) -> str:
        """The name of another node or an action, with the namespace of this one if it has none."""
        return name if name.startswith('/') else f'{self.get_namespace().rstrip("/")}/{name}'

    def every(self, period: float, callback: Callable[[], None]) -> Recurring:
        """Call back every so many seconds, by the steady clock, until cleaned up."""
        recurring = self._schedule.add(period, self.guarded(callback))
        self._entities.append((self._schedule.remove, recurring))
        return recurring

    def loop(self, period: float, callback: Callable[[], None]) -> None:
        """Call back every so many seconds in a fast lane of the process, until cleaned up."""
        # It needs its thread for itself.
        assert self.moves_robot
        self.lane = FastLane(period, self.guarded(callback))

    def poll(
        self, kind: type, topic: str, qos: QoSProfile = RELIABLE, *, raw: bool = False
    ) -> PolledSubscription:
        """A subscription for a fast lane, until cleaned up."""
        polled = PolledSubscription(self, kind, topic, qos, raw=raw)
        self._entities.append((self.destroy_subscription, polled.subscription))
        return polled

    def advertise(self, kind: type, topic: str, qos: QoSProfile = RELIABLE) -> Any:
        """A publisher, until cleaned up."""
        publisher = self.create_publisher(kind, topic, qos)
        self._entities.append((self.destroy_publisher, publisher))
        return publisher

    def listen(
        self, kind: type, topic: str, callback: Callable[..., None], qos: QoSProfile = RELIABLE,
        **options: Any,
    ) -> Any:
        """A subscription, until cleaned up."""
        subscription = self.create_subscription(
            kind, topic, self.guarded(callback), qos, **options)
        self._entities.append((self.destroy_subscription, subscription))
        return subscription

    def keep(self, destroy: Callable[[Any], bool], entity: Any) -> Any:
        """Destroy an entity when cleaned up."""
        self._entities.append((destroy, entity))
        return entity

    def serve(
        self, kind: type, name: str, grant: Callable[[Any, Any], Coroutine[Any, Any, None] | None],
        *, always: bool = False,
    ) -> None:
        """Answer a service whose response has ``success``, ``code`` and ``message``.

        Args:
            kind: The service's type.
            name: Its name.
            grant: Fills the response from the request; raises :class:`RefusedError` or another
                ``SysidError``, which becomes the answer. While a coroutine waits, other callbacks
                of the node run, and other requests to this service too.
            always: Whether it is granted in every state, not in the active one only.
        """
        async def answer(request: Any, response: Any) -> Any:
            await fill_answer(self, request, response, grant, always=always)
            return response

        # A group of its own, for a coroutine that waits keeps its group from everything else.
        group = ReentrantCallbackGroup() if inspect.iscoroutinefunction(grant) else None
        self.keep(self.destroy_service, self.create_service(
            kind, name, answer, callback_group=group))

    def report(self) -> None:
        """Publish what there is to say on ``/diagnostics``."""
        level, message, values = self.diagnose()
        if self._fault:
            level, message = DiagnosticStatus.ERROR, self._fault
        array = DiagnosticArray()
        array.header.stamp = self.get_clock().now().to_msg()
        array.status = [DiagnosticStatus(
            level=level, name=self.get_fully_qualified_name(), message=message,
            hardware_id=self.hardware_id,
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
        )]
        self._diagnostics.publish(array)

    # Lifecycle

    def destroy_node(self) -> None:
        """Destroy the node, in whatever state; its name is free from then on."""
        self._sole.give_name_back()
        super().destroy_node()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Configure; what was made is taken back where it fails."""
        outcome = self._transition(self._configure_alone, undo=self._forget)
        # What was loaded stays. A search through it for garbage holds a node up: measured, 0.4 s.
        gc.freeze()
        return outcome

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Activate."""
        outcome = self._transition(self._activate_loaded)
        if outcome == TransitionCallbackReturn.SUCCESS:
            self._take_priority(self.settings.realtime_priority)
        return outcome

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Deactivate."""
        return self._transition(self.deactivate)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Clean up."""
        return self._transition(self._forget)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Deactivate and clean up, from whatever state."""
        return self._transition(self.deactivate)

    def _configure_alone(self) -> None:
        self._sole.take_name()
        self.configure()

    def _activate_loaded(self) -> None:
        missing = self.loading()
        if missing:
            raise SysidError(
                'the node is not ready to be activated', found=missing, fix='Wait until it is')
        self._sole.require_unheard()
        self.activate()

    def _transition(
        self, work: Callable[[], None], undo: Callable[[], None] | None = None
    ) -> TransitionCallbackReturn:
        self._fault = ''
        try:
            work()
        except Exception as error:  # noqa: BLE001 (rclpy would swallow it)
            self.complain(error)
            if undo is not None:
                undo()
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    def _locked(self, name: str) -> str:
        """Why a parameter must not change now; empty when it may."""
        if self.configured and name not in self.settings_class.live:
            own = self.get_fully_qualified_name()
            return (
                'it is taken over when the node is configured. Clean the node up first: '
                f'ros2 lifecycle set {own} deactivate; ros2 lifecycle set {own} cleanup')
        return self.locked()

    def _take_priority(self, priority: int) -> None:
        # Once: workers that have begun since stay what they are.
        if priority == self._priority:
            return
        try:
            take_priority(priority)
            self._priority = priority
        except SysidError as error:
            # Slower is no reason not to work.
            self.get_logger().warning(str(error))

    def _forget(self) -> None:
        self.activation.withdraw()
        self.cleanup()
        self.lane = None
        while self._entities:
            destroy, entity = self._entities.pop()
            destroy(entity)
        self._sole.give_name_back()

    def _beat(self) -> None:
        state = Heartbeat.INACTIVE
        if self.active:
            state = Heartbeat.WORKING if self.working() else Heartbeat.ACTIVE
        heartbeat = Heartbeat(
            stamp=self.get_clock().now().to_msg(), node=self.get_fully_qualified_name(),
            state=Heartbeat.ERROR if self._fault else state, message=self._fault)
        self._sole.know_again(heartbeat)
        self._heartbeat.publish(heartbeat)


def now() -> float:
    """The time of the steady clock in [s], for everything that watches over something."""
    return time.monotonic()
