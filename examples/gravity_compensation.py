"""A controller that consumes a revision: it carries the robot's weight, and damps its motion.

    python gravity_compensation.py robot.urdf

Of sysid_ros it needs the interfaces only; the model is Pinocchio's.
"""

import sys

import numpy as np
import pinocchio as pin
import rclpy
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from sysid_ros.msg import IdentifiedParameters
from sysid_ros.srv import AcknowledgeRevision

DAMPING = 2.0  # N m s/rad


class GravityCompensation(Node):
    """Torques for the weight of the links, by the revision that was handed out last."""

    def __init__(self, urdf: str) -> None:
        super().__init__('gravity_compensation')
        self.model = pin.buildModelFromUrdf(urdf)
        self.data = self.model.createData()
        self.efforts = self.create_publisher(Float64MultiArray, 'effort_commands', 10)
        self.acknowledge = self.create_client(AcknowledgeRevision, 'model_server/acknowledge')
        # Sent once to whoever comes later, too.
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.create_subscription(
            IdentifiedParameters, 'model_server/identified_parameters', self.take, latched)
        self.create_subscription(JointState, 'joint_states', self.control, 10)
        self.unsaid: AcknowledgeRevision.Request | None = None
        self.create_timer(0.5, self.say)

    def take(self, message: IdentifiedParameters) -> None:
        """Change to a revision and say so; a better one waits until the robot is at rest."""
        bodies = [pin.Inertia.Zero() for _ in self.model.inertias]
        for name, link in zip(message.link_names, message.link_inertias, strict=True):
            frame = self.model.frames[self.model.getBodyId(name)]
            xx, xy, xz, yy, yz, zz = (
                link.ixx, link.ixy, link.ixz, link.iyy, link.iyz, link.izz)
            central = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            com = np.array([link.com.x, link.com.y, link.com.z])
            # A body is all links that are fixed to one joint.
            bodies[frame.parentJoint] += frame.placement.act(pin.Inertia(link.m, com, central))
        for joint in range(1, self.model.njoints):
            self.model.inertias[joint] = bodies[joint]
        self.data = self.model.createData()
        self.unsaid = AcknowledgeRevision.Request(
            consumer=self.get_fully_qualified_name(), revision=message.revision)
        self.get_logger().info(f'revision {message.revision}')

    def say(self) -> None:
        """Acknowledge a revision; the server may be found later than its parameters."""
        if self.unsaid is not None and self.acknowledge.service_is_ready():
            self.acknowledge.call_async(self.unsaid)
            self.unsaid = None

    def control(self, state: JointState) -> None:
        """Torques for one joint state, in its order of joints."""
        index = [self.model.joints[self.model.getJointId(name)].idx_v for name in state.name]
        turned = np.zeros(self.model.nv)
        turned[index] = state.position
        q = pin.integrate(self.model, pin.neutral(self.model), turned)
        weight = pin.computeGeneralizedGravity(self.model, self.data, q)
        torque = weight[index] - DAMPING * np.array(state.velocity)
        self.efforts.publish(Float64MultiArray(data=torque.tolist()))


def main() -> None:
    """Run until it is interrupted."""
    rclpy.init()
    rclpy.spin(GravityCompensation(sys.argv[1]))


if __name__ == '__main__':
    main()
