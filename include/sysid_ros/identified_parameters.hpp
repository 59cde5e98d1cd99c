/// \file
/// Identified parameters as plain values, of messages or of anything else; needs no ROS, no Eigen.

#ifndef SYSID_ROS__IDENTIFIED_PARAMETERS_HPP_
#define SYSID_ROS__IDENTIFIED_PARAMETERS_HPP_

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace sysid_ros
{

/// Parameters that cannot be used: what was found, what is allowed, and what to do.
class ParameterError : public std::invalid_argument
{
public:
  using std::invalid_argument::invalid_argument;
};

/// A quality figure that was not computed, and a joint term that is not part of the model.
constexpr double NOT_KNOWN = std::numeric_limits<double>::quiet_NaN();

/// Inertia of one link, as geometry_msgs/Inertia defines it.
struct LinkInertia
{
  std::string name;                   ///< Link, as in the robot description.
  double mass = 0.0;                  ///< [kg]
  std::array<double, 3> com{};        ///< Centre of mass in the link frame [m].
  /// xx, xy, xz, yy, yz, zz about the centre of mass, in axes of the link frame [kg m^2].
  std::array<double, 6> inertia{};
};

/// Torque [N m] or force [N] of one joint beyond the links it carries:
/// armature a + viscous_friction v + coulomb_friction sign(v) + torque_offset + stiffness q.
struct JointDynamics
{
  std::string name;                     ///< Joint, as in the robot description.
  double viscous_friction = NOT_KNOWN;  ///< [N m s/rad] or [N s/m]
  double coulomb_friction = NOT_KNOWN;  ///< [N m] or [N]
  double torque_offset = NOT_KNOWN;     ///< [N m] or [N]
  double armature = NOT_KNOWN;          ///< Rotor inertia seen at the joint [kg m^2] or [kg].
  double stiffness = NOT_KNOWN;         ///< [N m/rad] or [N/m]; without torque at q = 0.
};

/// How one joint moved in data that was fitted or held out; nothing is known of what lies beyond.
struct JointRange
{
  std::string name;                  ///< Joint, as in the robot description.
  double position_min = NOT_KNOWN;   ///< [rad] or [m]
  double position_max = NOT_KNOWN;   ///< [rad] or [m]
  double speed = NOT_KNOWN;          ///< 99.5 % of the samples were no faster [rad/s] or [m/s].
  double acceleration = NOT_KNOWN;   ///< 99.5 % had no more [rad/s^2] or [m/s^2].
  double effort = NOT_KNOWN;         ///< 99.5 % had no more [N m] or [N].
};

/// The torque error to expect of motion that is faster than what was fitted.
struct FasterMotion
{
  double relative_error = NOT_KNOWN;   ///< [1] On the faster half of rows, fitted to the slower half.
  double standard_error = NOT_KNOWN;   ///< [1] Of that mean over stretches of time.
  std::vector<std::string> joint_names;  ///< Joints, as in the robot description; empty: not known.
  std::vector<double> speed_factors;   ///< [1] Largest speed predicted over the largest fitted.
};

/// One set of identified dynamic parameters of a robot: fields of msg/IdentifiedParameters.
struct IdentifiedParameters
{
  std::string robot_name;          ///< <robot name="..."> of the description.
  std::string revision;            ///< Id in the revision store; empty: not committed.
  std::string estimate;            ///< Id of the estimate that it comes from; empty: none.
  std::string description_sha256;  ///< Of the robot description that gave the prior.
  std::string recording_sha256;    ///< Of the recording that was fitted.
  std::vector<LinkInertia> links;
  std::vector<JointDynamics> joints;
  std::vector<JointRange> fitted_range;
  double held_out_relative_error = NOT_KNOWN;  ///< [1] Torque error on data that was not fitted.
  double prior_relative_error = NOT_KNOWN;     ///< [1] The same figure for the prior.
  double consistency_margin = NOT_KNOWN;       ///< [1] Above zero: physically consistent.
  double condition_number = NOT_KNOWN;         ///< [1] Large: poorly excited.
  std::vector<JointRange> judged_range;        ///< Of the data that was held out to judge by.
  FasterMotion faster_motion;
};

/// Ranges of joints from those of a message.
template<class Ranges>
std::vector<JointRange> joint_ranges(const Ranges & ranges)
{
  std::vector<JointRange> found;
  for (const auto & one : ranges) {
    found.push_back(
      {one.name, one.position_min, one.position_max, one.speed, one.acceleration, one.effort});
  }
  return found;
}

/// Parameters from a message: sysid_ros::msg::IdentifiedParameters, or any class with its fields.
/// \throws ParameterError There are not as many inertias as links.
template<class Message>
IdentifiedParameters from_message(const Message & message)
{
  if (message.link_names.size() != message.link_inertias.size()) {
    throw ParameterError(
      "links and inertias are not as many: found " +
      std::to_string(message.link_inertias.size()) + " inertias, allowed " +
      std::to_string(message.link_names.size()));
  }
  IdentifiedParameters found;
  found.robot_name = message.robot_name;
  found.revision = message.revision;
  found.estimate = message.estimate;
  found.description_sha256 = message.description_sha256;
  found.recording_sha256 = message.recording_sha256;
  for (std::size_t k = 0; k < message.link_names.size(); ++k) {
    const auto & one = message.link_inertias[k];
    found.links.push_back(
      {message.link_names[k], one.m, {one.com.x, one.com.y, one.com.z},
        {one.ixx, one.ixy, one.ixz, one.iyy, one.iyz, one.izz}});
  }
  for (const auto & one : message.joints) {
    found.joints.push_back(
      {one.name, one.viscous_friction, one.coulomb_friction, one.torque_offset, one.armature,
        one.stiffness});
  }
  found.fitted_range = joint_ranges(message.fitted_range);
  found.held_out_relative_error = message.held_out_relative_error;
  found.prior_relative_error = message.prior_relative_error;
  found.consistency_margin = message.consistency_margin;
  found.condition_number = message.condition_number;
  found.judged_range = joint_ranges(message.judged_range);
  const auto & faster = message.faster_motion;
  found.faster_motion.relative_error = faster.relative_error;
  found.faster_motion.standard_error = faster.standard_error;
  found.faster_motion.joint_names.assign(faster.joint_names.begin(), faster.joint_names.end());
  found.faster_motion.speed_factors.assign(
    faster.speed_factors.begin(), faster.speed_factors.end());
  return found;
}

/// Number that the id of a revision begins with; 0 where it begins with none.
inline unsigned long long revision_number(const std::string & revision)
{
  constexpr std::size_t longest = 18;  // digits that fit
  const auto digits = revision.find_first_not_of("0123456789");
  const auto count = digits == std::string::npos ? revision.size() : digits;
  return count == 0 || count > longest ? 0 : std::stoull(revision.substr(0, count));
}

/// Refuse a revision of a store that has lost the one which runs: numbers only rise, and to go back
/// to earlier content is a revision of its own. Ids without a number say nothing of an order.
/// \param offered Id of the revision that is handed out.
/// \param running Id of the newest that was taken; empty for none.
/// \throws ParameterError The number is lower, or that of another revision.
inline void require_successor(const std::string & offered, const std::string & running)
{
  const auto number = revision_number(offered);
  if (offered != running && number > 0 && number <= revision_number(running)) {
    throw ParameterError(
      "an older revision is handed out than the one that was taken: found " + offered +
      ", allowed one after " + running + ". Restore the revision store; where it was put back or "
      "begun anew on purpose, clean up and configure this node");
  }
}

/// Fill a request of srv/AcknowledgeRevision: which revision a consumer runs from now on.
/// \param request Request to fill, of the generated class or any with its fields.
/// \param consumer Fully qualified name of the consumer's node.
/// \param parameters Parameters that hold in it now.
/// \throws ParameterError They were not committed, or the consumer has no name.
template<class Request>
void fill_acknowledgement(
  Request & request, const std::string & consumer, const IdentifiedParameters & parameters)
{
  if (parameters.revision.empty()) {
    throw ParameterError(
      "the parameters have no revision to acknowledge: found estimate '" + parameters.estimate +
      "', allowed what ~/identified_parameters of the model server says");
  }
  if (consumer.empty()) {
    throw ParameterError(
      "who acknowledges has no name: allowed get_node()->get_fully_qualified_name()");
  }
  request.consumer = consumer;
  request.revision = parameters.revision;
}

}  // namespace sysid_ros

#endif  // SYSID_ROS__IDENTIFIED_PARAMETERS_HPP_
