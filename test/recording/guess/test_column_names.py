"""What the names of columns tell of quantity, joint and unit."""

from __future__ import annotations

import pytest

from sysid_ros.recording.guess.column_names import column_names

JOINTS = ('FL_hip_joint', 'FL_thigh_joint')


@pytest.mark.parametrize(('name', 'quantity', 'joint', 'unit'), [
    ('FL_hip_joint_deg', 'position', 'FL_hip_joint', 'deg'),
    ('FL_hip_joint_rad', 'position', 'FL_hip_joint', 'rad'),
    ('FL_thigh_joint_deg_s', 'velocity', 'FL_thigh_joint', 's'),
    ('FL_thigh_joint [rad/s^2]', 'acceleration', 'FL_thigh_joint', 's'),
    ('FL_hip_joint_Nm', 'effort', 'FL_hip_joint', 'N·m'),
    ('FL_hip_joint_mA', 'current', 'FL_hip_joint', 'mA'),
    ('time_ms', 'time', '', 'ms'),
    ('stamp [s]', 'time', '', 's'),
    # A word for the quantity goes before the unit.
    ('FL_hip_joint_velocity_deg', 'velocity', 'FL_hip_joint', 'deg'),
    ('FL_hip_joint_temperature', 'other', 'FL_hip_joint', ''),
    ('FL_hip_joint', '', 'FL_hip_joint', ''),
])
def test_a_unit_tells_the_quantity_where_no_word_does(name, quantity, joint, unit):
    found, = column_names([name], JOINTS)
    assert (found.quantity, found.joint, found.unit) == (quantity, joint, unit)


def test_the_square_of_a_second_is_no_number_of_a_joint():
    first, second = column_names(['j1_rad_s2', 'j2_rad_s2'], ('shoulder', 'elbow'))
    assert (first.number, second.number) == (1, 2)
