"""What nodes are told of how to hear each other, and whose word is the last."""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path

import pytest

from sysid_ros.runs.middleware import loopback_variables, talk_by_udp

LOCAL = {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
ASKED = (
    'ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_STATIC_PEERS', 'RMW_IMPLEMENTATION',
    'FASTDDS_BUILTIN_TRANSPORTS', 'FASTDDS_DEFAULT_PROFILES_FILE',
    'FASTRTPS_DEFAULT_PROFILES_FILE')


@pytest.fixture
def variables_for(monkeypatch):
    """Sets variables and nothing else; gives what there is afterwards."""
    def set_and_read(**given):
        for name in ASKED:
            monkeypatch.setenv(name, given.get(name, ''))
            if name not in given:
                monkeypatch.delenv(name)
        talk_by_udp()
        return {name: os.environ[name] for name in ASKED if name in os.environ}
    return set_and_read


def test_nodes_talk_by_udp_unless_told_otherwise(variables_for):
    assert variables_for() == {'FASTDDS_BUILTIN_TRANSPORTS': 'UDPv4'}
    for given in ({'FASTDDS_BUILTIN_TRANSPORTS': 'SHM'}, {ASKED[-1]: 'own.xml'}):
        assert variables_for(**given) == given


def test_nodes_of_one_computer_use_its_loopback_interface_alone(variables_for):
    found = variables_for(**LOCAL)
    assert found['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'SUBNET'
    (file,) = (Path(found[name]) for name in ASKED[-2:] if name in found)
    assert '<address>127.0.0.1</address>' in file.read_text()
    assert '<useBuiltinTransports>false</useBuiltinTransports>' in file.read_text()
    # What is handed on to a process that this one starts says the same again.
    assert loopback_variables() == found


@pytest.mark.parametrize(('version', 'variable'), [
    ('7.1.5', ASKED[-1]), ('9.1.2', ASKED[-2]), (None, ASKED[-2])])
def test_the_file_is_where_fast_dds_of_the_distribution_looks_for_it(
    variables_for, monkeypatch, version, variable
):
    def installed(name):
        if version is None:
            raise metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(metadata, 'version', installed)
    assert set(variables_for(**LOCAL)) == {'ROS_AUTOMATIC_DISCOVERY_RANGE', variable}


@pytest.mark.parametrize('given', [
    {'RMW_IMPLEMENTATION': 'rmw_cyclonedds_cpp'}, {'ROS_STATIC_PEERS': '192.0.2.1'},
    {'FASTDDS_DEFAULT_PROFILES_FILE': 'own.xml'}, {'FASTRTPS_DEFAULT_PROFILES_FILE': 'own.xml'}])
def test_ros_keeps_to_this_computer_what_a_user_has_chosen(variables_for, given):
    assert variables_for(**LOCAL, **given) == LOCAL | given
    assert loopback_variables() == LOCAL
