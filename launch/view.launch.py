"""RViz with the robot, inertia ellipsoids before and after, the path of a motion and obstacles.

    ros2 launch sysid_ros view.launch.py fixed_frame:=base_link

identify.launch.py and demo.launch.py start it with `rviz:=true`. The robot's driver publishes TF
and the description; where none does, `description` names a URDF for robot_state_publisher.
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

SHARE = Path(get_package_share_directory('sysid_ros'))


def generate_launch_description() -> LaunchDescription:
    """Arguments, and RViz once the description is known."""
    return LaunchDescription([
        DeclareLaunchArgument(
            'fixed_frame', default_value='base_link', description='Frame that stands still'),
        DeclareLaunchArgument(
            'namespace', default_value='', description='Namespace of the nodes'),
        DeclareLaunchArgument(
            'description', default_value='', description='URDF to publish with TF of joint_states; '
            "empty: the robot's driver does"),
        OpaqueFunction(function=start),
    ])


def start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """RViz, and robot_state_publisher where a description is named."""
    namespace = LaunchConfiguration('namespace')
    rviz = Node(
        package='rviz2', executable='rviz2', name='rviz2', namespace=namespace, output='screen',
        arguments=['-d', str(SHARE / 'config' / 'rviz' / 'sysid.rviz'),
                   '-f', LaunchConfiguration('fixed_frame')],
    )
    description = LaunchConfiguration('description').perform(context)
    if not description:
        return [rviz]
    text = Path(description).expanduser().read_text(encoding='utf-8')
    return [rviz, Node(
        package='robot_state_publisher', executable='robot_state_publisher',
        name='robot_state_publisher', namespace=namespace, output='screen',
        # As text: launch would read other strings as YAML.
        parameters=[{'robot_description': ParameterValue(text, value_type=str)}],
    )]
