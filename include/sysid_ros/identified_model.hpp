/// \file
/// Pinocchio's model of a robot, as it was identified; needs Pinocchio 3 or newer, and no ROS.

#ifndef SYSID_ROS__IDENTIFIED_MODEL_HPP_
#define SYSID_ROS__IDENTIFIED_MODEL_HPP_

#include <pinocchio/algorithm/rnea.hpp>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sysid_ros/identified_parameters.hpp"
#include "sysid_ros/joint_terms.hpp"

namespace sysid_ros
{

namespace detail
{

/// Inertia of a link in its frame. \throws ParameterError A number is not finite.
inline pinocchio::Inertia link_inertia(const LinkInertia & link)
{
  const Eigen::Vector3d com(link.com[0], link.com[1], link.com[2]);
  const auto & i = link.inertia;
  Eigen::Matrix3d central;
  central << i[0], i[1], i[2], i[1], i[3], i[4], i[2], i[4], i[5];
  if (!std::isfinite(link.mass) || link.mass < 0.0 || !com.allFinite() || !central.allFinite()) {
    throw ParameterError(
      "link '" + link.name + "' cannot have this inertia: found a mass of " +
      std::to_string(link.mass) + " kg, allowed finite numbers and a mass of zero or more");
  }
  return pinocchio::Inertia(link.mass, com, central);
}

/// Refuse parameters that leave out a link which the description fixes to a moving body, or a
/// moving body: whoever goes on would compute torques without it.
inline void require_links_complete(
  const pinocchio::Model & described, const std::set<std::string> & links)
{
  std::vector<bool> moving(described.joints.size(), false);
  for (const auto & frame : described.frames) {
    if (frame.type != pinocchio::BODY || frame.parentJoint == 0) {
      continue;
    }
    const auto & carrier = described.frames[frame.parentFrame];
    const bool named = links.count(frame.name) > 0;
    moving[frame.parentJoint] = moving[frame.parentJoint] || named;
    // Pinocchio notes the inertia of a fixed link with the fixed joint before it.
    if (!named && carrier.type == pinocchio::FIXED_JOINT && carrier.inertia.mass() > 0.0) {
      throw ParameterError(
        "nothing is known of a link: found '" + frame.name + "' of " +
        std::to_string(carrier.inertia.mass()) + " kg in the description alone, allowed the "
        "description that was identified; a tool put on later is a load to be identified");
    }
  }
  for (std::size_t joint = 1; joint < described.joints.size(); ++joint) {
    if (!moving[joint] && described.inertias[joint].mass() > 0.0) {
      throw ParameterError(
        "nothing is known of a body: found joint '" + described.names[joint] +
        "' without a link, allowed a link for every moving body");
    }
  }
}

/// Terms of every joint of a model with one degree of freedom, by Pinocchio's index of joints.
inline std::vector<JointTerms> terms_by_joint(
  const pinocchio::Model & described, const IdentifiedParameters & parameters)
{
  std::map<std::string, JointTerms> given;
  for (const JointDynamics & joint : parameters.joints) {
    if (!described.existJointName(joint.name)) {
      throw ParameterError(
        "there is no such joint in the description: found '" + joint.name + "' in the parameters");
    }
    if (!given.emplace(joint.name, joint_terms(joint)).second) {
      throw ParameterError("a joint is named twice: found '" + joint.name + "'");
    }
  }
  std::vector<JointTerms> terms(described.joints.size());
  for (std::size_t joint = 1; joint < terms.size(); ++joint) {
    const auto found = given.find(described.names[joint]);
    if (found != given.end()) {
      terms[joint] = found->second;
    } else if (described.joints[joint].nv() == 1) {
      throw ParameterError(
        "nothing is known of a joint: found '" + described.names[joint] + "' in the description "
        "alone, allowed robots without closed loops, and mimic joints that Pinocchio was told "
        "of (buildModel with mimic = true)");
    }
  }
  return terms;
}

}  // namespace detail

/// Rigid-body model of a robot with identified inertias and armatures.
///
/// Mass matrix, forward and inverse dynamics of Pinocchio are those of the identified robot.
/// Friction, springs and offsets are in none of its algorithms: see InverseDynamics and JointTerms.
/// \param described Model built from the description that was identified (URDF).
/// \param parameters Identified parameters.
/// \throws ParameterError They are of another robot, name something that the model does not have,
///   leave something out, or hold a number that is not finite.
inline pinocchio::Model identified_model(
  const pinocchio::Model & described, const IdentifiedParameters & parameters)
{
  if (parameters.robot_name != described.name) {
    throw ParameterError(
      "the parameters are of another robot: found '" + parameters.robot_name + "', allowed '" +
      described.name + "'");
  }
  std::vector<pinocchio::Inertia> bodies(described.joints.size(), pinocchio::Inertia::Zero());
  std::set<std::string> links;
  for (const LinkInertia & link : parameters.links) {
    const pinocchio::Inertia own = detail::link_inertia(link);
    const bool exists = described.existBodyName(link.name);
    const auto & frame = described.frames[exists ? described.getBodyId(link.name) : 0];
    if (!exists || frame.parentJoint == 0) {
      throw ParameterError(
        "there is no such link on a moving body: found '" + link.name + "' in the parameters");
    }
    if (!links.insert(link.name).second) {
      throw ParameterError("a link is named twice: found '" + link.name + "'");
    }
    // A body is all links that are fixed to one joint; links without mass add nothing to it.
    if (link.mass > 0.0) {
      bodies[frame.parentJoint] += frame.placement.act(own);
    }
  }
  detail::require_links_complete(described, links);
  const std::vector<JointTerms> terms = detail::terms_by_joint(described, parameters);
  pinocchio::Model model = described;
  for (std::size_t joint = 1; joint < bodies.size(); ++joint) {
    model.inertias[joint] = bodies[joint];
    if (model.joints[joint].nv() == 1) {
      model.armature[model.joints[joint].idx_v()] = terms[joint].armature;
    }
  }
  return model;
}

/// Inverse dynamics of an identified robot with joint friction, in the order of a controller.
///
/// Vectors hold one number for each of `joint_names`, positions of continuous joints as angles.
/// Nothing is allocated after construction, so that calls may be made in a real-time loop; they
/// write into the object, so that each thread needs one of its own.
class InverseDynamics
{
public:
  /// \param described Model built from the description that was identified (URDF).
  /// \param parameters Identified parameters.
  /// \param joint_names Order of the joints in all vectors: each moving joint once.
  /// \param coulomb_smoothing Velocity over which the sign of dry friction is smoothed [rad/s] or
  ///   [m/s]; 0 for the sign itself, whose jumps of torque shake a robot at every turn.
  /// \throws ParameterError As identified_model; or a joint has several degrees of freedom, the
  ///   names are not those of the joints, or the smoothing is negative.
  InverseDynamics(
    const pinocchio::Model & described, const IdentifiedParameters & parameters,
    const std::vector<std::string> & joint_names, double coulomb_smoothing = 0.02)
  : model_(identified_model(described, parameters)), data_(model_), smoothing_(coulomb_smoothing),
    q_(model_.nq), v_(model_.nv), a_(model_.nv), torque_(model_.nv)
  {
    if (!(std::isfinite(coulomb_smoothing) && coulomb_smoothing >= 0.0)) {
      throw ParameterError(
        "the smoothing of dry friction cannot be used: found " +
        std::to_string(coulomb_smoothing) + ", allowed a velocity, zero or more");
    }
    const std::vector<JointTerms> terms = detail::terms_by_joint(model_, parameters);
    std::set<std::string> seen;
    for (const std::string & name : joint_names) {
      const std::size_t joint = model_.existJointName(name) ? model_.getJointId(name) : 0;
      if (joint == 0 || model_.joints[joint].nv() != 1 || !seen.insert(name).second) {
        throw ParameterError(
          "not a joint of one degree of freedom, named once: found '" + name + "'");
      }
      const auto & of = model_.joints[joint];
      order_.push_back({of.idx_q(), of.nq(), of.idx_v(), terms[joint]});
    }
    if (static_cast<Eigen::Index>(order_.size()) != model_.nv) {
      throw ParameterError(
        "the joints are not as many as the robot moves by: found " +
        std::to_string(order_.size()) + ", allowed " + std::to_string(model_.nv) +
        "; of a robot with a floating base take identified_model");
    }
  }

  /// The identified model, with armatures; its order of joints is Pinocchio's.
  const pinocchio::Model & model() const {return model_;}

  /// Torques that carry the weight of the links, g(q) [N m] or [N].
  const Eigen::VectorXd & gravity_torque(const Eigen::Ref<const Eigen::VectorXd> & q)
  {
    set_configuration(q);
    const auto & tau = pinocchio::computeGeneralizedGravity(model_, data_, q_);
    for (std::size_t k = 0; k < order_.size(); ++k) {
      torque_[k] = tau[order_[k].idx_v];
    }
    return torque_;
  }

  /// Torques of friction, springs and offsets [N m] or [N].
  const Eigen::VectorXd & joint_torque(
    const Eigen::Ref<const Eigen::VectorXd> & q, const Eigen::Ref<const Eigen::VectorXd> & v)
  {
    for (std::size_t k = 0; k < order_.size(); ++k) {
      torque_[k] = order_[k].terms.torque(q[k], v[k], smoothing_);
    }
    return torque_;
  }

  /// Torques of a motion, M(q) a + h(q, v) + joint terms [N m] or [N].
  /// \param q Positions [rad] or [m].
  /// \param v Velocities of the bodies [rad/s] or [m/s].
  /// \param a Accelerations.
  /// \param v_terms Velocities of the joint terms: those of the reference, where noise of the
  ///   measured ones would make dry friction chatter.
  const Eigen::VectorXd & torque(
    const Eigen::Ref<const Eigen::VectorXd> & q, const Eigen::Ref<const Eigen::VectorXd> & v,
    const Eigen::Ref<const Eigen::VectorXd> & a,
    const Eigen::Ref<const Eigen::VectorXd> & v_terms)
  {
    set_configuration(q);
    for (std::size_t k = 0; k < order_.size(); ++k) {
      v_[order_[k].idx_v] = v[k];
      a_[order_[k].idx_v] = a[k];
    }
    const auto & tau = pinocchio::rnea(model_, data_, q_, v_, a_);
    joint_torque(q, v_terms);
    for (std::size_t k = 0; k < order_.size(); ++k) {
      torque_[k] += tau[order_[k].idx_v];
    }
    return torque_;
  }

  /// Torques of a motion whose velocities are those of its joint terms, too [N m] or [N].
  const Eigen::VectorXd & torque(
    const Eigen::Ref<const Eigen::VectorXd> & q, const Eigen::Ref<const Eigen::VectorXd> & v,
    const Eigen::Ref<const Eigen::VectorXd> & a)
  {
    return torque(q, v, a, v);
  }

private:
  struct OrderedJoint
  {
    int idx_q, nq, idx_v;
    JointTerms terms;
  };

  /// Pinocchio's configuration; a joint that turns without end is one by cosine and sine.
  void set_configuration(const Eigen::Ref<const Eigen::VectorXd> & q)
  {
    for (std::size_t k = 0; k < order_.size(); ++k) {
      const OrderedJoint & joint = order_[k];
      if (joint.nq == 1) {
        q_[joint.idx_q] = q[k];
      } else {
        q_[joint.idx_q] = std::cos(q[k]);
        q_[joint.idx_q + 1] = std::sin(q[k]);
      }
    }
  }

  pinocchio::Model model_;
  pinocchio::Data data_;
  double smoothing_;
  std::vector<OrderedJoint> order_;
  Eigen::VectorXd q_, v_, a_, torque_;
};

}  // namespace sysid_ros

#endif  // SYSID_ROS__IDENTIFIED_MODEL_HPP_
