# Installs the headers in C++ beside those of the generated messages, and exports them as the target
# sysid_ros::identified_model. It leaves Pinocchio to whoever includes identified_model.hpp: the
# messages and identified_parameters.hpp do without. A macro: what ament exports is noted in variables
# of the file that calls it.
macro(sysid_install_headers)
  add_library(identified_model INTERFACE)
  target_compile_features(identified_model INTERFACE cxx_std_17)
  target_include_directories(identified_model INTERFACE
    "$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>"
    "$<INSTALL_INTERFACE:include/${PROJECT_NAME}>")
  install(DIRECTORY include/ DESTINATION include/${PROJECT_NAME})
  install(TARGETS identified_model EXPORT identified_model)
  ament_export_targets(identified_model)
endmacro()
