"""Nodes as processes of a program: each program has a ROS domain of its own."""

import os

import pytest

from sysid_ros.demo import node_processes
from sysid_ros.demo.node_processes import claim_domain
from sysid_ros.errors import ConfigurationError


def test_no_two_programs_get_one_domain_and_none_gets_that_of_the_tests():
    claimed = [claim_domain() for _ in range(5)]
    try:
        domains = {domain for domain, _ in claimed}
        assert len(domains) == 5
        assert int(os.environ['ROS_DOMAIN_ID']) not in domains
    finally:
        for _, lock in claimed:
            os.close(lock)


def test_a_domain_is_free_again_when_its_lock_is_closed(monkeypatch):
    number, lock = claim_domain()
    monkeypatch.setattr(node_processes, '_DOMAINS', range(number, number + 1))
    with pytest.raises(ConfigurationError, match='every ROS domain is taken'):
        claim_domain()
    os.close(lock)
    again, lock = claim_domain()
    os.close(lock)
    assert again == number
