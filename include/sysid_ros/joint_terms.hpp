/// \file
/// Friction and the other torques of joints beside rigid-body dynamics; needs no ROS, no Eigen.

#ifndef SYSID_ROS__JOINT_TERMS_HPP_
#define SYSID_ROS__JOINT_TERMS_HPP_

#include <cmath>

#include "sysid_ros/identified_parameters.hpp"

namespace sysid_ros
{

/// Coefficients of the terms of one joint; a term that is not part of the model is zero.
struct JointTerms
{
  double viscous_friction = 0.0;  ///< [N m s/rad] or [N s/m]
  double coulomb_friction = 0.0;  ///< [N m] or [N]
  double torque_offset = 0.0;     ///< [N m] or [N]
  double armature = 0.0;          ///< [kg m^2] or [kg]
  double stiffness = 0.0;         ///< [N m/rad] or [N/m]

  /// Torque of friction, spring and offset [N m] or [N]; the armature acts with the bodies.
  /// \param q Position [rad] or [m].
  /// \param v Velocity [rad/s] or [m/s]: the reference's, where the measured one is noisy.
  /// \param smoothing Velocity over which the sign of dry friction is smoothed, as
  ///   tanh(v / smoothing) [rad/s] or [m/s]; 0 for the sign itself.
  double torque(double q, double v, double smoothing) const
  {
    const double sign =
      smoothing > 0.0 ? std::tanh(v / smoothing) : static_cast<double>((v > 0.0) - (v < 0.0));
    return viscous_friction * v + coulomb_friction * sign + torque_offset + stiffness * q;
  }
};

/// Terms of a joint from identified parameters.
/// \throws ParameterError A coefficient is infinite, or one that takes energy is negative.
inline JointTerms joint_terms(const JointDynamics & identified)
{
  const auto value = [&identified](double given, bool dissipates, const char * field) {
      const double found = std::isnan(given) ? 0.0 : given;
      if (!std::isfinite(found) || (dissipates && found < 0.0)) {
        throw ParameterError(
          "joint '" + identified.name + "' cannot have this " + field + ": found " +
          std::to_string(found) + ", allowed a finite number" +
          (dissipates ? ", zero or more" : ""));
      }
      return found;
    };
  return {
    value(identified.viscous_friction, true, "viscous_friction"),
    value(identified.coulomb_friction, true, "coulomb_friction"),
    value(identified.torque_offset, false, "torque_offset"),
    value(identified.armature, true, "armature"),
    value(identified.stiffness, false, "stiffness")};
}

}  // namespace sysid_ros

#endif  // SYSID_ROS__JOINT_TERMS_HPP_
