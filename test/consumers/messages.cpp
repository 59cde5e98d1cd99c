/// Converts a message whose every number is another, and says what came out wrong.

#include "messages.hpp"

#include <cmath>
#include <iostream>

#include "sysid_ros/identified_parameters.hpp"
#include "sysid_ros/joint_terms.hpp"

namespace
{

int wrong = 0;

template<class Value>
void expect(const char * what, const Value & found, const Value & wanted)
{
  if (!(found == wanted)) {
    std::cout << what << ": " << found << " instead of " << wanted << '\n';
    ++wrong;
  }
}

template<class Call>
void expect_refused(const char * what, Call call)
{
  try {
    call();
  } catch (const sysid_ros::ParameterError &) {
    return;
  }
  std::cout << what << " was not refused\n";
  ++wrong;
}

}  // namespace

int main()
{
  IdentifiedParameters message{};
  message.robot_name = "arm";
  message.revision = "r1";
  message.estimate = "e1";
  message.description_sha256 = "d";
  message.recording_sha256 = "c";
  message.link_names = {"forearm"};
  message.link_inertias = {{1.0, {2.0, 3.0, 4.0}, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0}};
  JointDynamics joint{};
  joint.name = "elbow";
  joint.viscous_friction = 11.0;
  joint.coulomb_friction = 12.0;
  joint.torque_offset = 13.0;
  joint.armature = 14.0;
  joint.stiffness = NAN;
  message.joints = {joint};
  JointRange range{};
  range.name = "elbow";
  range.position_min = 15.0;
  range.position_max = 16.0;
  range.speed = 17.0;
  range.acceleration = 18.0;
  range.effort = 19.0;
  message.fitted_range = {range};
  message.held_out_relative_error = 20.0;
  message.prior_relative_error = 21.0;
  message.consistency_margin = 22.0;
  message.condition_number = 23.0;
  range.name = "wrist";
  range.effort = 24.0;
  message.judged_range = {range};
  message.faster_motion.relative_error = 25.0;
  message.faster_motion.standard_error = 26.0;
  message.faster_motion.joint_names = {"elbow"};
  message.faster_motion.speed_factors = {27.0};

  const sysid_ros::IdentifiedParameters found = sysid_ros::from_message(message);
  expect<std::string>("robot", found.robot_name, "arm");
  expect<std::string>("revision", found.revision, "r1");
  expect<std::string>("estimate", found.estimate, "e1");
  expect<std::string>("description", found.description_sha256, "d");
  expect<std::string>("recording", found.recording_sha256, "c");
  expect<std::string>("link", found.links.at(0).name, "forearm");
  expect("mass", found.links[0].mass, 1.0);
  for (int k = 0; k < 3; ++k) {
    expect("com", found.links[0].com[k], 2.0 + k);
  }
  for (int k = 0; k < 6; ++k) {
    expect("inertia", found.links[0].inertia[k], 5.0 + k);
  }
  expect<std::string>("joint", found.joints.at(0).name, "elbow");
  expect("viscous", found.joints[0].viscous_friction, 11.0);
  expect("coulomb", found.joints[0].coulomb_friction, 12.0);
  expect("offset", found.joints[0].torque_offset, 13.0);
  expect("armature", found.joints[0].armature, 14.0);
  expect("no spring", std::isnan(found.joints[0].stiffness), true);
  expect<std::string>("range", found.fitted_range.at(0).name, "elbow");
  expect("lowest", found.fitted_range[0].position_min, 15.0);
  expect("highest", found.fitted_range[0].position_max, 16.0);
  expect("speed", found.fitted_range[0].speed, 17.0);
  expect("acceleration", found.fitted_range[0].acceleration, 18.0);
  expect("effort", found.fitted_range[0].effort, 19.0);
  expect("held out", found.held_out_relative_error, 20.0);
  expect("prior", found.prior_relative_error, 21.0);
  expect("margin", found.consistency_margin, 22.0);
  expect("condition", found.condition_number, 23.0);
  expect<std::string>("judged", found.judged_range.at(0).name, "wrist");
  expect("judged effort", found.judged_range[0].effort, 24.0);
  expect("faster", found.faster_motion.relative_error, 25.0);
  expect("its error", found.faster_motion.standard_error, 26.0);
  expect<std::string>("faster joint", found.faster_motion.joint_names.at(0), "elbow");
  expect("factor", found.faster_motion.speed_factors.at(0), 27.0);

  const sysid_ros::JointTerms terms = sysid_ros::joint_terms(found.joints[0]);
  expect("torque", terms.torque(0.3, -0.5, 0.0), -11.0 * 0.5 - 12.0 + 13.0);
  expect("smoothed", terms.torque(0.3, 0.0, 0.1), 13.0);
  expect("standstill", terms.torque(0.3, 0.0, 0.0), 13.0);

  AcknowledgeRevision request{};
  sysid_ros::fill_acknowledgement(request, "/controller", found);
  expect<std::string>("consumer", request.consumer, "/controller");
  expect<std::string>("acknowledged", request.revision, "r1");
  expect_refused("an acknowledgement without a name", [&] {
      sysid_ros::fill_acknowledgement(request, "", found);
    });
  message.revision.clear();
  expect_refused("an acknowledgement of what was not committed", [&] {
      sysid_ros::fill_acknowledgement(request, "/controller", sysid_ros::from_message(message));
    });
  for (const char * running : {"", "own", "2-ab", "3-ab", "99999999999999999999-ab"}) {
    sysid_ros::require_successor("3-ab", running);
  }
  sysid_ros::require_successor("10-ab", "9-ab");
  sysid_ros::require_successor("own", "9-ab");
  expect_refused("a lower number", [] {sysid_ros::require_successor("9-ab", "10-ab");});
  expect_refused("another one of the number", [] {sysid_ros::require_successor("3-ab", "3-cd");});
  message.link_names.clear();
  expect_refused("an inertia without a link", [&] {sysid_ros::from_message(message);});
  return wrong;
}
