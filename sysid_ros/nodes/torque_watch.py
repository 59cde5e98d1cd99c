"""Torques of the last seconds beside predicted ones, compared in a thread that nobody waits for."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from sysid_ros.errors import SysidError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.evaluation.live_torque import LiveTorque, live_torque
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.live.window import LiveWindow
from sysid_ros.robot.parameters import ParameterSet
from sysid_ros.runs.warm_up import load_for_live_data


class TorqueWatch:
    """Compares one window after the other, from ``configure`` of a node to its clean-up.

    Args:
        setup: What joint states mean, how they are filtered, and the torque model.
        found: Called with each comparison.

    Attributes:
        rms: Root mean square of the measured torques of the last window in [N·m] or [N], shape
            ``(n,)``; NaN where they are not known, and where the base floats, whose motion no
            joint state tells.
        residual_rms: The same of measured less predicted ones.
    """

    def __init__(self, setup: FitSetup, found: Callable[[LiveTorque], None]) -> None:
        self._setup, self._found = setup, found
        self.rms = self.residual_rms = np.full(len(setup.model.robot.limb_joints), math.nan)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix='torque')
        self._loading: Future[None] | None = None
        self._looking: Future[LiveTorque | None] | None = None

    @property
    def loaded(self) -> bool:
        """Whether the compiled functions for joint states that come in are loaded."""
        return self._loading is not None and self._loading.done()

    def load(self) -> None:
        """Begin to load them, unless that has begun."""
        if self._loading is None:
            self._loading = self._thread.submit(load_for_live_data)

    def require_loaded(self) -> None:
        """Raise what went wrong when they were loaded."""
        assert self._loading is not None  # it is called when they are loaded
        self._loading.result()

    def update(
        self, window: LiveWindow | None, model: TorqueModel, believed: ParameterSet
    ) -> None:
        """Take the comparison that the thread has finished, and begin that of the next window.

        Args:
            window: Joint states of the last seconds; None when there were none.
            model: Torque model to predict by; it may have other joint terms than the settings'.
            believed: Its parameters.
        """
        if not self.loaded:
            return
        if self._looking is not None:
            if not self._looking.done():
                return
            torque = self._looking.result()
            unknown = np.full(len(self.rms), math.nan)
            self.rms, self.residual_rms = unknown, unknown
            if torque is not None:
                self.rms, self.residual_rms = torque.rms, torque.residual_rms
                self._found(torque)
        self._looking = self._thread.submit(self._compare, window, model, believed)

    def close(self) -> None:
        """End the thread after what it is doing."""
        self._thread.shutdown(cancel_futures=True)

    def _compare(
        self, window: LiveWindow | None, model: TorqueModel, believed: ParameterSet
    ) -> LiveTorque | None:
        if window is None or model.robot.base_joints:
            return None
        try:
            return live_torque(window, replace(self._setup, model=model), believed)
        except SysidError:
            # Too little was heard, or without efforts; diagnostics say what is wrong.
            return None
