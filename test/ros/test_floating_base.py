"""A robot whose base floats, through the identification node: recorded with its sensors, fitted."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
import yaml
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import Imu, JointState

from support.flying_robot import flying_robot, readings
from support.identification_bench import Setup
from sysid_ros.msg import ResultCode
from sysid_ros.runs.sources import load_source

RATE = 100.0


@pytest.fixture
def setup(ros):
    return Setup(ros)


def played(ros, flying, topics):
    """Publish what the sensors measure, with the stamps of when."""
    kinds = {'joint_states': JointState, '/imu': Imu, '/foot': WrenchStamped}
    publishers = {topic: ros.client.create_publisher(kinds[topic], topic, 100) for topic in topics}
    begin, clock, names = time.monotonic(), time.time(), flying.robot.joint_names[6:]
    sent = [0]

    def measure():
        while sent[0] < (time.monotonic() - begin) * RATE:
            t = np.array([sent[0] / RATE])
            q, v, tau, imu, hand = (table[0] for table in readings(flying, t))
            seconds = clock + t[0]
            for topic, publisher in publishers.items():
                message = kinds[topic]()
                message.header.stamp.sec = int(seconds)
                message.header.stamp.nanosec = int(1e9 * (seconds % 1.0))
                if topic == 'joint_states':
                    message.name = list(names)
                    message.position, message.velocity, message.effort = (
                        values.tolist() for values in (q, v, tau))
                elif topic == '/imu':
                    for part, values in (
                            (message.angular_velocity, imu[:3]),
                            (message.linear_acceleration, imu[3:])):
                        part.x, part.y, part.z = values.tolist()
                else:
                    for part, values in (
                            (message.wrench.force, hand[:3]), (message.wrench.torque, hand[3:])):
                        part.x, part.y, part.z = values.tolist()
                publisher.publish(message)
            sent[0] += 1

    ros.client.create_timer(0.005, measure)


def test_base_and_joints_are_recorded_and_fitted(setup):
    ros = setup.ros
    flying = flying_robot(ros.folder)
    sections = flying.sections
    sections['robot']['terms'] = {'viscous_friction': 'all'}
    (ros.folder / 'settings.yaml').write_text(yaml.safe_dump(sections))
    setup.node()
    played(ros, flying, ['joint_states', '/imu', '/foot'])
    assert setup.record(12.0, 'fly').success
    # The sensors that the fit takes are in the bag, though no parameter of the node names them.
    recording = load_source(setup.data / 'recordings' / 'fly').recording()
    assert {sensor.name for sensor in recording.sensors} == {
        'gyroscope', 'accelerometer', 'force', 'moment'}
    result = ros.result(setup.identify())
    assert result.success, result.message
    run = setup.data / 'estimates' / result.estimate
    parameters = json.loads((run / 'estimate.json').read_text())['parameters']
    found = dict(zip(parameters['names'], parameters['values'], strict=True))
    masses = [found[f'{body}.mass'] for body in flying.robot.body_names]
    total = flying.truth.reshape(-1, 10)[:, 0].sum()
    assert sum(masses) == pytest.approx(total, rel=0.01)


def test_a_sensor_that_the_fit_takes_has_to_be_heard(setup):
    ros = setup.ros
    flying = flying_robot(ros.folder)
    (ros.folder / 'settings.yaml').write_text(yaml.safe_dump(flying.sections))
    setup.recorder()
    played(ros, flying, ['joint_states', '/imu'])
    refused = setup.refused('a sensor that is to be recorded is silent')
    assert refused.code == ResultCode.NOT_READY and '/foot' in refused.message
