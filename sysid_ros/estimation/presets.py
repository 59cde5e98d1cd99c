"""Settings that belong together, under one name.

``preset:`` at the top of a settings file fills in what its sections leave out, key by key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sysid_ros.errors import ConfigurationError, did_you_mean

#: Sections of settings by name.
PRESETS: dict[str, dict[str, Any]] = {
    # Zhang, Haugk and Vasudevan 2024, section IV-B: fourth-order central differences of measured
    # velocities; a zero-phase Butterworth filter of fourth order for each signal, the cut-offs
    # being those that they have published for the leg of their robot; one row of ten at 1 kHz;
    # equation (32), reweighted iteratively. Base parameters are regrouped by QR in every fit.
    'constrained_robots': {
        'processing': {
            'differentiation': 'measured4',
            'velocity_filter': {'cutoff': 18.0, 'order': 4},
            'differentiate_filtered': False,
            'acceleration_filter': {'cutoff': 15.0, 'order': 4},
            'torque_filter': {'cutoff': 33.0, 'order': 4},
            'parallel_filter': {'bandwidth': 33.0, 'decimate_to': 100.0},
        },
        'fit': {'estimator': 'irls_lmi'},
    },
}


def filled_in(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Settings with what their preset says where they say nothing.

    Args:
        settings: Sections by name, and maybe the name of a preset under ``preset``.

    Returns:
        The sections of both; ``null`` takes a key of the preset away.

    Raises:
        ConfigurationError: There is no such preset.
    """
    name = settings.get('preset')
    if name is None:
        return settings
    if not isinstance(name, str) or name not in PRESETS:
        raise ConfigurationError(
            'there is no such preset', where='preset', found=repr(name),
            allowed=', '.join(PRESETS), fix=did_you_mean(str(name), PRESETS),
        )
    return _merged(PRESETS[name], settings)


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Two nested mappings as one; where both say something, the second counts."""
    both = {**under, **over}
    for key, value in under.items():
        if isinstance(value, Mapping) and isinstance(both[key], Mapping):
            both[key] = _merged(value, both[key])
    return both
