"""Whatever a settings file says of a recording is read, or refused by one error for people."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sysid_ros.errors import ConfigurationError
from sysid_ros.recording.description import RecordingSettings, per_joint, unit_factors
from sysid_ros.recording.live.joint_states import LiveSettings
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.units import UNITS
from sysid_ros.settings import StrictSettings, parse_settings

TABLE = {
    'format': 'csv', 'joints': ['a', 'b'], 'file': 'log.csv', 'time': {'rate': 100.0},
    'position': {'columns': ['qa', 'qb'], 'unit': ['rad', 'deg']},
    'effort': {'columns': ['ia', 'ib'], 'side': 'motor', 'sign': [1, -1], 'scale': 0.1},
    'transmission': {'ratios': [50.0, 80.0]},
}
ARCHIVE = {
    'format': 'npz', 'joints': ['a', 'b'], 'file': 'log.npz', 'time': {'array': 't'},
    'position': {'array': 'q', 'wrapped': True}, 'effort': {'array': 'tau', 'offset': [0.1, 0.2]},
}
BAG = {'format': 'rosbag', 'file': 'bag', 'joints': ['a'], 'rename': {'x': 'a'}}
PROCESSING = {
    'trim': [0.5, 0.5], 'position_filter': {'cutoff': 8.0}, 'torque_filter': {'cutoff': 8.0},
    'differentiation': 'central4', 'torque_delay': [0.0, 0.01],
    'parallel_filter': {'cutoff': 5.0, 'decimate_to': 15.0},
}
NUMBERS = st.integers(-3, 9) | st.floats() | st.sampled_from([0.0, -0.0, 5e-324, 1e308])
WORDS = st.sampled_from(
    ['', 'a', 'b', 'rad', 'deg', 'm', 'N·m', 'motor', 'joint', 'csv', 'npz', 'rosbag', ',', '.',
     'ns', 'measured', 'spline', 'é', '../x', '1e3'])
PLAIN = st.none() | st.booleans() | NUMBERS | WORDS
ODD = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(['rate', 'column', 'array', 'columns', 'unit', 'cutoff', 'ratios', 'a']),
        inner, max_size=2), max_leaves=5)


def paths_of(kind: type[StrictSettings]) -> list[tuple[str, ...]]:
    """Keys of settings, and those one level below."""
    paths = []
    for key, field in kind.model_fields.items():
        paths.append((key,))
        inner = [
            each for each in (field.annotation, *getattr(field.annotation, '__args__', ()))
            if isinstance(each, type) and issubclass(each, StrictSettings)]
        paths += [(key, below) for each in inner for below in each.model_fields]
    return paths


def edited(start: dict, edits: list) -> dict:
    """A mapping with values set at paths, as far as these exist."""
    data = copy.deepcopy(start)
    for path, value in edits:
        around = data
        for key in path[:-1]:
            around = around.setdefault(key, {}) if isinstance(around, dict) else None
        if isinstance(around, dict):
            around[path[-1]] = value
    return data


def edits_of(kind: type[StrictSettings]) -> st.SearchStrategy:
    return st.lists(st.tuples(st.sampled_from(paths_of(kind)), ODD), min_size=1, max_size=4)


def by_joint(**said: object) -> RecordingSettings:
    effort = {'columns': ['ia', 'ib']} | said
    return parse_settings(RecordingSettings, TABLE | {'effort': effort}, 'recording')


def test_what_is_said_by_joint_is_a_list_in_their_order() -> None:
    effort = by_joint(
        scale={'b': 0.5}, sign={'a': -1}, offset={'b': 0.1}, unit={'b': 'N·mm', 'a': 'N·m'}).effort
    assert effort is not None
    assert (effort.scale, effort.sign, effort.offset, effort.unit) == (
        (1.0, 0.5), (-1.0, 1.0), (0.0, 0.1), ('N·m', 'N·mm'))


@pytest.mark.parametrize('said, words', [
    ({'scale': {'elbow': 0.5}}, "effort.scale.*'elbow'.*a, b"),
    ({'unit': {'a': 'N·m'}}, 'a unit is missing.*none of b'),
])
def test_names_of_no_joint_and_units_of_some_are_refused(said: dict, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        by_joint(**said)


def test_joints_said_by_name_need_an_order() -> None:
    bag = {key: value for key, value in BAG.items() if key not in ('joints', 'rename')}
    with pytest.raises(ConfigurationError, match=r'Add joints: \[elbow\]'):
        parse_settings(RecordingSettings, bag | {'effort': {'scale': {'elbow': 0.5}}}, 'recording')


@pytest.mark.parametrize('start', [TABLE, ARCHIVE, BAG], ids=['csv', 'npz', 'rosbag'])
def test_what_is_edited_is_right_before(start: dict) -> None:
    assert parse_settings(RecordingSettings, start, 'here').format == start['format']


@given(st.sampled_from([TABLE, ARCHIVE, BAG]), edits_of(RecordingSettings))
@example(TABLE, [(('effort', 'scale'), 0.0)])
@example(TABLE, [(('position', 'scale'), [1.0, 0.0])])
@example(TABLE, [(('effort', 'wrapped'), [False, False])])
@example(TABLE, [(('transmission', 'ratios'), [50.0, 0.0])])
@settings(max_examples=500, deadline=None)
def test_settings_of_a_recording_say_what_they_must_or_are_refused(start: dict, edits) -> None:
    try:
        read = parse_settings(RecordingSettings, edited(start, edits), 'here')
    except ConfigurationError as error:
        assert str(error).startswith('here')
        return
    joints = len(read.joints)
    assert len(set(read.joints)) == joints
    assert read.most_unpacked >= 16e6 and np.isfinite(read.most_unpacked)
    assert min(read.clock_warning, read.clock_limit, read.reset_tolerance) > 0.0
    assert read.decimal != read.delimiter
    for quantity, said in read.quantities.items():
        signs = per_joint(said.sign, joints)
        scales, offsets = per_joint(said.scale, joints), per_joint(said.offset, joints)
        assert len(signs) == len(scales) == len(offsets) == joints
        assert set(np.abs(signs)) <= {1.0} and np.isfinite([*scales, *offsets]).all()
        # What is multiplied by nothing was not recorded.
        assert 0.0 not in scales
        assert quantity == 'position' or not any(per_joint(said.wrapped, joints))
        factors, units = unit_factors(quantity, said, joints)
        assert np.isfinite(factors).all() and (factors > 0.0).all()
        assert set(units) <= set(UNITS[quantity]) and len(units) == joints
        assert said.side == 'joint' or read.transmission is not None
        assert read.format == 'rosbag' or (said.file or read.file) is not None


@given(edits_of(Processing))
@settings(max_examples=500, deadline=None)
def test_settings_of_processing_are_usable_or_refused(edits) -> None:
    try:
        read = parse_settings(Processing, edited(PROCESSING, edits), 'here')
    except ConfigurationError as error:
        assert str(error).startswith('here')
        return
    assert read.rate is None or 0.0 < read.rate < np.inf
    assert min(read.trim) >= 0.0 and read.max_gap >= 1.5 and read.frozen_after > 0.0
    assert read.median_window is None or read.median_window % 2 == 1
    for low_pass in (read.position_filter, read.velocity_filter, read.torque_filter):
        assert low_pass is None or 0.0 < low_pass.cutoff < np.inf


@given(edits_of(LiveSettings))
@settings(max_examples=200, deadline=None)
def test_settings_of_live_joint_states_are_usable_or_refused(edits) -> None:
    try:
        read = parse_settings(LiveSettings, edited({}, edits), 'here')
    except ConfigurationError as error:
        assert str(error).startswith('here')
        return
    for name in ('clock_warning', 'clock_limit', 'reset_tolerance', 'frozen_after', 'history'):
        assert 0.0 < getattr(read, name) < np.inf


@pytest.mark.parametrize(('edit', 'words'), [
    ((('effort', 'scale'), [0.1, 0.0]), 'here: effort.scale: .*scale of zero.*other than 0'),
    ((('effort', 'wrapped'), [False, True]), 'here: effort.wrapped: positions alone'),
    ((('effort', 'sign'), [1, 2]), r'here: effort.sign: a sign is not \+1 or -1'),
])
def test_what_cannot_be_is_refused_with_its_key(edit: tuple, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        parse_settings(RecordingSettings, edited(TABLE, [edit]), 'here')
    # A list that says no is none.
    parse_settings(RecordingSettings, edited(TABLE, [(('effort', 'wrapped'), [False, False])]), '')
