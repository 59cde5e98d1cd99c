"""The nodes that identify a real robot, whose driver is running already.

    ros2 launch sysid_ros identify.launch.py plan:=my_robot/excitation.yaml \
        settings:=my_robot/identification.yaml robot:=config/robots/ur.yaml

Nothing moves before an operator arms the excitation node and sends it a motion. `composed:=true`
has all nodes but the monitor in one process. `campaign:=true` adds the node that identifies
unattended, when its action is called. `panel:=true` adds a page in a browser that operates the
robot, at the address that it prints (docs/how-to/panel.md). `rviz:=true` shows the robot, its
inertia, the motion and obstacles (view.launch.py). With `respawn:=true` a node that ends unasked is
started again, and moves nothing by that. identify.launch.xml and identify.launch.yaml are the same.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.conditions import IfCondition, UnlessCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchDescription

SHARE = Path(get_package_share_directory('sysid_ros'))
# Parameters of each node that come from arguments of this file, by the names of both. What takes
# longest to start comes first.
GIVEN = {
    'identification_node': {'settings': 'settings', 'data_folder': 'data_folder'},
    'model_server': {'robot': 'settings', 'data_folder': 'data_folder'},
    'excitation_node': {'plan': 'plan', 'data_folder': 'data_folder'},
}

# The same of the node that plays and fits through them.
CAMPAIGN = {'plan': 'plan', 'settings': 'settings', 'data_folder': 'data_folder'}

# The same of the page in a browser.
PANEL = {'data_folder': 'data_folder'}

# What all processes have in common.
COMMON: dict[str, Any] = {
    'output': 'screen', 'respawn': LaunchConfiguration('respawn')}


def generate_launch_description() -> LaunchDescription:
    """Monitor, model server, identification and excitation."""
    namespace, composed = LaunchConfiguration('namespace'), LaunchConfiguration('composed')
    return LaunchDescription([
        DeclareLaunchArgument(
            'plan', description='Settings file of sysid excite: robot, limits, surroundings'),
        DeclareLaunchArgument(
            'settings', description='Settings file of sysid fit: robot, processing, fit'),
        DeclareLaunchArgument(
            'robot', default_value=str(SHARE / 'config' / 'robots' / 'custom_arm.yaml'),
            description='Parameters of the robot: topics, actions, how it is moved'),
        DeclareLaunchArgument(
            'data_folder', default_value='~/sysid_data',
            description='Folder of motions, recordings, estimates and revisions'),
        DeclareLaunchArgument(
            'namespace', default_value='', description='Namespace of the nodes'),
        DeclareLaunchArgument(
            'use_sim_time', default_value='false', description='Whether time comes from /clock'),
        DeclareLaunchArgument(
            'log_level', default_value='info', description='Least level of what the nodes log'),
        DeclareLaunchArgument(
            'enclaves', default_value='/sysid',
            description='Path before the names of the enclaves of the nodes, for SROS 2'),
        DeclareLaunchArgument(
            'respawn', default_value='false',
            description='Whether a node that ends is started again'),
        DeclareLaunchArgument(
            'composed', default_value='false',
            description='Whether all nodes but the monitor share one process'),
        DeclareLaunchArgument(
            'campaign', default_value='false',
            description='Whether campaign_node waits for somebody to begin a campaign'),
        DeclareLaunchArgument(
            'panel', default_value='false',
            description='Whether a page in a browser operates the robot'),
        DeclareLaunchArgument(
            'rviz', default_value='false', description='Whether RViz shows what is known'),
        DeclareLaunchArgument(
            'fixed_frame', default_value='base_link', description='Frame that RViz keeps still'),
        process('monitor_node', {'plan': 'plan'}),
        *(process(name, given, condition=UnlessCondition(composed))
          for name, given in GIVEN.items()),
        process('campaign_node', CAMPAIGN, condition=IfCondition(LaunchConfiguration('campaign'))),
        process('panel_node', PANEL, condition=IfCondition(LaunchConfiguration('panel'))),
        Node(
            package='sysid_ros', executable='sysid_nodes', namespace=namespace,
            condition=IfCondition(composed), arguments=[
                word for name, given in GIVEN.items() for word in words(name, given)],
            ros_arguments=of_ros('sysid_nodes'), **COMMON,
        ),
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(SHARE / 'launch' / 'view.launch.py')),
            condition=IfCondition(LaunchConfiguration('rviz')),
            launch_arguments={
                'fixed_frame': LaunchConfiguration('fixed_frame'), 'namespace': namespace,
            }.items(),
        ),
    ])


def process(name: str, given: dict[str, str], **options: Any) -> Node:
    """One node in a process of its own."""
    return Node(
        package='sysid_ros', executable=name, name=name,
        namespace=LaunchConfiguration('namespace'), parameters=[
            str(SHARE / 'config' / f'{name}.yaml'), LaunchConfiguration('robot'),
            {key: LaunchConfiguration(argument)
             for key, argument in {**given, 'use_sim_time': 'use_sim_time'}.items()},
        ], ros_arguments=of_ros(name), **COMMON, **options,
    )


def of_ros(executable: str) -> list[Any]:
    """Arguments of ROS; the enclave says nothing where SROS 2 is not enabled."""
    return ['--log-level', LaunchConfiguration('log_level'),
            '--enclave', [LaunchConfiguration('enclaves'), f'/{executable}']]


def words(name: str, given: dict[str, str]) -> Iterator[Any]:
    """The same node as sysid_nodes is told of it; values are texts of YAML."""
    yield name
    for file in (str(SHARE / 'config' / f'{name}.yaml'), LaunchConfiguration('robot')):
        yield from ('--params-file', file)
    for key, argument in given.items():
        yield from ('-p', [f"{key}:='", LaunchConfiguration(argument), "'"])
    yield from ('-p', ['use_sim_time:=', LaunchConfiguration('use_sim_time')])
