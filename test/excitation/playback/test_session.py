"""Settings of a session; what it does with them is in ``test/faults/test_motion_faults.py``."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_ros.errors import ConfigurationError
from sysid_ros.excitation.playback.session import SessionSettings

NUMBERS = st.floats(-10.0, 10.0) | st.sampled_from([np.nan, np.inf, -np.inf, 0.0, 5e-324])


def test_what_holds_without_other_word() -> None:
    assert asdict(SessionSettings()) == {
        'arm_timeout': 60.0, 'path_stop': 0.5, 'rest_velocity': 0.02, 'rest_timeout': 3.0}


@given(st.fixed_dictionaries(dict.fromkeys(asdict(SessionSettings()), NUMBERS)))
@settings(max_examples=200, deadline=None)
def test_settings_are_finite_numbers_above_zero_or_refused_by_their_name(given_) -> None:
    usable = {
        name: np.isfinite(value) and (value > 0.0 or (value == 0.0 and name == 'path_stop'))
        for name, value in given_.items()}
    try:
        SessionSettings(**given_)
    except ConfigurationError as error:
        named = [name for name in given_ if f'session: {name}: ' in str(error)]
        assert len(named) == 1 and not usable[named[0]]
    else:
        assert all(usable.values())


def test_a_permission_without_end_is_refused() -> None:
    with pytest.raises(ConfigurationError, match='session: arm_timeout: .*found inf'):
        SessionSettings(arm_timeout=np.inf)
