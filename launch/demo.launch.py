"""The simulated robot, all nodes, and with `operator:=true` the operator who runs the loop.

    ros2 launch sysid_ros demo.launch.py operator:=true

With `panel:=true` a person runs it, in a browser, at the address that is printed.
The same as `sysid demo`, from the same files, without the report.
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.conditions import IfCondition
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from sysid_ros.demo.folder import prepare, verify

SHARE = Path(get_package_share_directory('sysid_ros'))


def generate_launch_description() -> LaunchDescription:
    """Arguments, and the nodes once the folder is known."""
    return LaunchDescription([
        DeclareLaunchArgument(
            'folder', default_value='~/sysid_demo', description='Folder that the demo runs in'),
        DeclareLaunchArgument(
            'operator', default_value='false', description='Whether the loop is run at once'),
        DeclareLaunchArgument(
            'panel', default_value='false',
            description='Whether a page in a browser operates the robot'),
        DeclareLaunchArgument(
            'rviz', default_value='false', description='Whether RViz shows the robot'),
        OpaqueFunction(function=start),
    ])


def start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Fill the folder, and start everything in it."""
    filled = prepare(LaunchConfiguration('folder').perform(context))
    verify(filled)
    folder = str(filled)
    nodes = f'{folder}/nodes.yaml'
    operator = Node(
        package='sysid_ros', executable='demo_operator', name='demo_operator', cwd=folder,
        output='screen', condition=IfCondition(LaunchConfiguration('operator')),
        parameters=[str(SHARE / 'config' / 'demo_operator.yaml'), nodes],
    )
    return [
        Node(
            package='sysid_ros', executable='simulated_robot', name='simulated_robot', cwd=folder,
            output='screen',
            parameters=[str(SHARE / 'config' / 'simulated_robot.yaml'), nodes],
        ),
        Node(
            package='sysid_ros', executable='monitor_node', name='monitor_node', cwd=folder,
            output='screen',
            parameters=[str(SHARE / 'config' / 'monitor_node.yaml'), nodes],
        ),
        Node(
            package='sysid_ros', executable='model_server', name='model_server', cwd=folder,
            output='screen',
            parameters=[str(SHARE / 'config' / 'model_server.yaml'), nodes],
        ),
        Node(
            package='sysid_ros', executable='identification_node', name='identification_node',
            cwd=folder, output='screen',
            parameters=[str(SHARE / 'config' / 'identification_node.yaml'), nodes],
        ),
        Node(
            package='sysid_ros', executable='computed_torque_controller',
            name='computed_torque_controller', cwd=folder, output='screen',
            parameters=[str(SHARE / 'config' / 'computed_torque_controller.yaml'), nodes],
        ),
        Node(
            package='sysid_ros', executable='computed_torque_controller',
            name='true_model_controller', cwd=folder, output='screen',
            parameters=[str(SHARE / 'config' / 'computed_torque_controller.yaml'), nodes],
        ),
        Node(
            package='sysid_ros', executable='excitation_node', name='excitation_node', cwd=folder,
            output='screen',
            parameters=[str(SHARE / 'config' / 'excitation_node.yaml'), nodes],
        ),
        Node(
            package='sysid_ros', executable='panel_node', name='panel_node', cwd=folder,
            output='screen', condition=IfCondition(LaunchConfiguration('panel')),
            parameters=[str(SHARE / 'config' / 'panel_node.yaml'), nodes],
        ),
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(SHARE / 'launch' / 'view.launch.py')),
            condition=IfCondition(LaunchConfiguration('rviz')),
            launch_arguments={
                'fixed_frame': 'base', 'description': f'{folder}/demo_robot.urdf'}.items(),
        ),
        operator,
        RegisterEventHandler(
            OnProcessExit(target_action=operator, on_exit=[EmitEvent(event=Shutdown())])),
    ]
