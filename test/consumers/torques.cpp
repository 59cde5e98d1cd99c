/// Torques of an identified robot for a test: model (Pinocchio's text archive) and numbers from
/// files, torques to the standard output; the message of an error to the standard error.

#include <pinocchio/serialization/model.hpp>

#include <fstream>
#include <iomanip>
#include <iostream>

#include "sysid_ros/identified_model.hpp"

namespace
{

/// A number or nan, which streams do not read.
double number(std::istream & in)
{
  std::string word;
  in >> word;
  return std::stod(word);
}

sysid_ros::IdentifiedParameters parameters(std::istream & in)
{
  sysid_ros::IdentifiedParameters found;
  std::size_t links, joints;
  in >> found.robot_name >> links >> joints;
  for (std::size_t k = 0; k < links; ++k) {
    sysid_ros::LinkInertia link;
    in >> link.name;
    link.mass = number(in);
    for (double & value : link.com) {value = number(in);}
    for (double & value : link.inertia) {value = number(in);}
    found.links.push_back(link);
  }
  for (std::size_t k = 0; k < joints; ++k) {
    sysid_ros::JointDynamics joint;
    in >> joint.name;
    for (double * value : {&joint.viscous_friction, &joint.coulomb_friction, &joint.torque_offset,
        &joint.armature, &joint.stiffness})
    {
      *value = number(in);
    }
    found.joints.push_back(joint);
  }
  return found;
}

Eigen::VectorXd vector(std::istream & in, std::size_t size)
{
  Eigen::VectorXd found(size);
  for (double & value : found) {value = number(in);}
  return found;
}

}  // namespace

int main(int, char ** arguments)
{
  pinocchio::Model described;
  pinocchio::serialization::loadFromText(described, std::string(arguments[1]));
  std::ifstream in(arguments[2]);
  try {
    const sysid_ros::IdentifiedParameters identified = parameters(in);
    const double smoothing = number(in);
    std::size_t joints, states;
    in >> joints >> states;
    std::vector<std::string> names(joints);
    for (std::string & name : names) {in >> name;}
    sysid_ros::InverseDynamics dynamics(described, identified, names, smoothing);
    std::cout << std::setprecision(17);
    for (std::size_t k = 0; k < states; ++k) {
      const Eigen::VectorXd q = vector(in, joints), v = vector(in, joints), a = vector(in, joints);
      std::cout << dynamics.torque(q, v, a).transpose() << ' ';
      std::cout << dynamics.gravity_torque(q).transpose() << '\n';
    }
  } catch (const sysid_ros::ParameterError & error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
