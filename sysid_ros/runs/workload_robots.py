"""Small robots and settings, by which compiled functions meet all kinds of arguments."""

from __future__ import annotations

#: Two revolute joints and a prismatic one, whose links are boxes.
ARM = """<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial>
    <origin xyz="0.2 0.01 0.02"/><mass value="3.0"/>
    <inertia ixx="0.008" iyy="0.05" izz="0.05" ixy="0" ixz="0.001" iyz="0"/></inertial></link>
  <link name="lower"><inertial>
    <origin xyz="0.15 0 0.01"/><mass value="1.5"/>
    <inertia ixx="0.003" iyy="0.015" izz="0.015" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="slide"><inertial>
    <origin xyz="0.02 0.01 0.05"/><mass value="0.8"/>
    <inertia ixx="0.003" iyy="0.003" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <origin xyz="0 0 0.4"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="100" velocity="5"/>
    <dynamics damping="0.5" friction="0.5"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
    <origin xyz="0.4 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" effort="50" velocity="5"/>
    <dynamics damping="0.2" friction="0.2"/></joint>
  <joint name="lift" type="prismatic"><parent link="lower"/><child link="slide"/>
    <origin xyz="0.3 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-0.8" upper="0.8" effort="50" velocity="3"/>
    <dynamics damping="2.0" friction="1.0"/></joint>
</robot>
"""

#: A double pendulum.
PENDULUM = """<robot name="pendulum">
  <link name="stand"/>
  <link name="upper"><inertial>
    <origin xyz="0 0 -0.1"/><mass value="0.5"/>
    <inertia ixx="0.004" iyy="0.004" izz="0.0005" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial>
    <origin xyz="0 0 -0.12"/><mass value="0.3"/>
    <inertia ixx="0.002" iyy="0.002" izz="0.0003" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="continuous"><parent link="stand"/><child link="upper"/>
    <axis xyz="0 1 0"/><dynamics damping="0.05" friction="0.02"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>
    <origin xyz="0 0 -0.2"/><axis xyz="0 1 0"/><dynamics damping="0.02" friction="0.01"/></joint>
</robot>
"""

#: A crank of 1 m, a coupler of 2 m and a rocker of 3 m on a ground of 3.5 m, in the x-y plane.
FOUR_BAR = """<robot name="four_bar">
  <link name="ground"/>
  <link name="crank"><inertial>
    <origin xyz="0.5 0 0"/><mass value="1.0"/>
    <inertia ixx="0.02" iyy="0.08" izz="0.09" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="coupler"><inertial>
    <origin xyz="1.0 0 0"/><mass value="2.0"/>
    <inertia ixx="0.2" iyy="0.6" izz="0.7" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="rocker"><inertial>
    <origin xyz="1.5 0 0"/><mass value="3.0"/>
    <inertia ixx="0.6" iyy="1.8" izz="2.2" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="crank_joint" type="continuous"><parent link="ground"/><child link="crank"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="coupler_joint" type="continuous"><parent link="crank"/><child link="coupler"/>
    <origin xyz="1 0 0"/><axis xyz="0 0 1"/></joint>
  <joint name="rocker_joint" type="continuous"><parent link="ground"/><child link="rocker"/>
    <origin xyz="3.5 0 0"/><axis xyz="0 0 1"/></joint>
</robot>
"""

#: What closes it.
FOUR_BAR_LOOPS = """
actuated: [crank_joint]
assembly: {crank_joint: 0.0, coupler_joint: 1.4, rocker_joint: 2.4}
closures:
  - name: tip
    kind: point
    first: {link: coupler, origin: [2, 0, 0]}
    second: {link: rocker, origin: [3, 0, 0]}
"""

#: Settings of recordings of each, as formats that take the estimator's name.
SETTINGS = {
    'arm': """
robot:
  urdf: arm.urdf
  terms:
    armature: all
    stiffness: [shoulder]
    viscous_friction: all
    coulomb_friction: [shoulder, lift]
    asymmetric_coulomb: [elbow]
    stribeck_friction: [shoulder]
    torque_offset: [shoulder, lift]
    coulomb_smoothing: 0.05
recording: {format: rosbag, file: motion, joints: [shoulder, elbow, lift]}
processing:
  position_filter: {cutoff: 20.0}
  parallel_filter: {cutoff: 10.0, decimate_to: 25.0}
""",
    'plain_arm': """
robot: {urdf: arm.urdf}
recording: {format: rosbag, file: motion, joints: [shoulder, elbow, lift]}
processing: {parallel_filter: {cutoff: 10.0, decimate_to: 25.0}}
""",
    'loaded_arm': """
robot:
  urdf: arm.urdf
  terms: {coulomb_smoothing: 0.05, load_friction: [shoulder], power_friction: [elbow]}
recording: {format: rosbag, file: motion, joints: [shoulder, elbow, lift]}
processing: {position_filter: {cutoff: 20.0}}
""",
    'pendulum': """
robot:
  urdf: pendulum.urdf
  terms: {viscous_friction: all, coulomb_friction: all, coulomb_smoothing: 0.05, torque_offset: []}
recording: {format: rosbag, file: motion, joints: [shoulder, elbow]}
processing: {position_filter: {cutoff: 10.0}}
""",
    'dry_pendulum': """
robot:
  urdf: pendulum.urdf
  terms: {viscous_friction: all, coulomb_friction: all, torque_offset: []}
recording: {format: rosbag, file: motion, joints: [shoulder, elbow]}
processing: {position_filter: {cutoff: 10.0}}
""",
    'four_bar': """
robot:
  urdf: four_bar.urdf
  loops: loops.yaml
  gravity: [0, -9.80665, 0]
  terms: {viscous_friction: [crank_joint, rocker_joint], coulomb_smoothing: 0.05}
recording: {format: rosbag, file: motion, joints: [crank_joint]}
processing: {position_filter: {cutoff: 10.0}}
""",
}

#: Settings of a search for a motion.
EXCITATION = """
robot: {urdf: arm.urdf}
motion: {duration: 4.0, harmonics: [1, 2, 3]}
clearance:
  boxes: [{name: wall, lower: [1.5, -2, -2], upper: [1.7, 2, 2]}]
design: {starts: 1, iterations: 3}
"""
