"""A bag played back into the live identification node, by its own time.

    ros2 launch sysid_ros replay.launch.py bag:=my_bag settings:=my_robot/identification.yaml

Record it with the services of the identification node, and fit it with its action, as if the
robot were there.
"""

import sys
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, ExecuteProcess
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchDescription

SHARE = Path(get_package_share_directory('sysid_ros'))


def generate_launch_description() -> LaunchDescription:
    """Identification node and model server in simulated time, and the bag."""
    settings = LaunchConfiguration('settings')
    data_folder = LaunchConfiguration('data_folder')
    return LaunchDescription([
        DeclareLaunchArgument('bag', description='Folder or file of the bag'),
        DeclareLaunchArgument(
            'settings', description='Settings file of sysid fit: robot, processing, fit'),
        DeclareLaunchArgument(
            'data_folder', default_value='~/sysid_data',
            description='Folder of recordings, estimates and revisions'),
        DeclareLaunchArgument(
            'rate', default_value='1.0', description='Seconds of the bag per second'),
        Node(
            package='sysid_ros', executable='identification_node', name='identification_node',
            output='screen',
            parameters=[
                str(SHARE / 'config' / 'identification_node.yaml'),
                {'settings': settings, 'data_folder': data_folder, 'use_sim_time': True},
            ],
        ),
        Node(
            package='sysid_ros', executable='model_server', name='model_server', output='screen',
            parameters=[
                str(SHARE / 'config' / 'model_server.yaml'),
                {'robot': settings, 'data_folder': data_folder, 'use_sim_time': True},
            ],
        ),
        ExecuteProcess(
            cmd=[
                sys.executable, '-m', 'sysid_ros.cli.main', 'replay', LaunchConfiguration('bag'),
                '--rate', LaunchConfiguration('rate'), '--wait', '30',
            ],
            output='screen',
        ),
    ])
