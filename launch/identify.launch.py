"""The nodes that identify a real robot, whose driver is running already.

    ros2 launch sysid_ros identify.launch.py plan:=my_robot/excitation.yaml \
        settings:=my_robot/identification.yaml robot:=config/robots/ur.yaml

Nothing moves before an operator arms the excitation node and sends it a motion. `rviz:=true` shows
the robot, its inertia, the motion and obstacles (view.launch.py).
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchDescription

SHARE = Path(get_package_share_directory('sysid_ros'))


def generate_launch_description() -> LaunchDescription:
    """Monitor, model server, identification and excitation."""
    plan = LaunchConfiguration('plan')
    settings = LaunchConfiguration('settings')
    data_folder = LaunchConfiguration('data_folder')
    robot = LaunchConfiguration('robot')
    namespace = LaunchConfiguration('namespace')

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
            'rviz', default_value='false', description='Whether RViz shows what is known'),
        DeclareLaunchArgument(
            'fixed_frame', default_value='base_link', description='Frame that RViz keeps still'),
        Node(
            package='sysid_ros', executable='monitor_node', name='monitor_node',
            namespace=namespace, output='screen',
            parameters=[
                str(SHARE / 'config' / 'monitor_node.yaml'), robot, {'plan': plan},
            ],
        ),
        Node(
            package='sysid_ros', executable='model_server', name='model_server',
            namespace=namespace, output='screen',
            parameters=[
                str(SHARE / 'config' / 'model_server.yaml'), robot,
                {'robot': settings, 'data_folder': data_folder},
            ],
        ),
        Node(
            package='sysid_ros', executable='identification_node', name='identification_node',
            namespace=namespace, output='screen',
            parameters=[
                str(SHARE / 'config' / 'identification_node.yaml'), robot,
                {'settings': settings, 'data_folder': data_folder},
            ],
        ),
        Node(
            package='sysid_ros', executable='excitation_node', name='excitation_node',
            namespace=namespace, output='screen',
            parameters=[
                str(SHARE / 'config' / 'excitation_node.yaml'), robot,
                {'plan': plan, 'data_folder': data_folder},
            ],
        ),
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(SHARE / 'launch' / 'view.launch.py')),
            condition=IfCondition(LaunchConfiguration('rviz')),
            launch_arguments={
                'fixed_frame': LaunchConfiguration('fixed_frame'), 'namespace': namespace,
            }.items(),
        ),
    ])
