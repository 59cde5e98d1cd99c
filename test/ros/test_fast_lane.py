"""A fast loop beside the executor, and subscriptions that wait to be asked."""

import time

import pytest
from rclpy.qos import QoSProfile
from std_msgs.msg import Float64MultiArray

from sysid_ros.nodes.fast_lane import FastLane, PolledSubscription


def test_messages_wait_until_they_are_taken_in_their_order(ros):
    polled = PolledSubscription(ros.client, Float64MultiArray, 'numbers', QoSProfile(depth=50))
    publisher = ros.client.create_publisher(Float64MultiArray, 'numbers', 50)
    ros.wait(lambda: publisher.get_subscription_count() > 0)
    for k in range(50):
        publisher.publish(Float64MultiArray(data=[float(k)]))
    taken = []
    # The executor spins meanwhile and leaves them alone.
    ros.wait(lambda: taken.extend(polled.take()) or len(taken) == 50)
    assert [message.data[0] for message, _ in taken] == list(range(50))
    assert abs(taken[-1][1] * 1e-9 - time.time()) < 20.0
    assert polled.take() == []


def test_bytes_are_taken_where_they_are_wanted(ros):
    polled = PolledSubscription(
        ros.client, Float64MultiArray, 'numbers', QoSProfile(depth=5), raw=True)
    publisher = ros.client.create_publisher(Float64MultiArray, 'numbers', 5)
    ros.wait(lambda: publisher.get_subscription_count() > 0)
    publisher.publish(Float64MultiArray(data=[1.0]))
    taken = []
    ros.wait(lambda: taken.extend(polled.take()) or taken)
    assert isinstance(taken[0][0], bytes)


def test_the_lane_keeps_its_period_and_lets_others_have_their_turn():
    ticks, turns = [], []
    lane = FastLane(0.002, lambda: ticks.append(time.monotonic()))
    begin = time.monotonic()
    while time.monotonic() - begin < 0.4:
        lane.run_once(lambda: turns.append(0))
    assert len(ticks) <= 201
    assert len(turns) <= 81
    # However busy the machine is, some of both come through.
    assert len(ticks) > 40
    assert len(turns) > 10


def test_ticks_that_were_missed_are_not_made_up_for():
    ticks = []

    def slow():
        ticks.append(time.monotonic())
        time.sleep(0.05 if len(ticks) == 1 else 0.0)

    lane = FastLane(0.01, slow)
    for _ in range(4):
        lane.run_once(lambda: None)
    assert ticks[2] - ticks[1] == pytest.approx(0.01, abs=0.009)
