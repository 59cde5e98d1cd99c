# Installs the hand-written Python modules and the executables.

# rosidl_generate_interfaces() installs a Python package named like the project already, and
# ament_python_install_package() cannot be called twice for one name. So the hand-written files
# go over the generated package, in which __init__.py is the only file that both have.
function(sysid_install_python_package)
  ament_get_python_install_dir(destination)
  file(GLOB_RECURSE files RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS
    ${PROJECT_NAME}/*)
  # An editable pip install leaves its generated files in the source tree.
  list(FILTER files EXCLUDE REGEX
    "/__pycache__/|\\.so$|^${PROJECT_NAME}/(msg|srv|action)/")
  foreach(file IN LISTS files)
    get_filename_component(directory ${file} DIRECTORY)
    install(FILES ${file} DESTINATION ${destination}/${directory})
  endforeach()
endfunction()

# Entry points beside the metadata that the generated package brings: tools such as ros2cli find
# extensions by them.
function(sysid_install_entry_points entry_points)
  ament_get_python_install_dir(destination)
  set(python py${Python3_VERSION_MAJOR}.${Python3_VERSION_MINOR})
  install(FILES ${entry_points}
    DESTINATION ${destination}/${PROJECT_NAME}-${${PROJECT_NAME}_VERSION}-${python}.egg-info)
endfunction()

# One executable for each `name = module:function` line of an entry-points file, where `ros2 run`
# looks for them; that of the terminal is on the PATH, too.
function(sysid_install_executables entry_points)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${entry_points})
  file(STRINGS ${entry_points} lines REGEX "^[a-z_]+ *= *[a-z_.]+:[a-z_]+$")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^([a-z_]+) *= *([a-z_.]+):([a-z_]+)$" _ ${line})
    set(script ${CMAKE_CURRENT_BINARY_DIR}/executables/${CMAKE_MATCH_1})
    file(WRITE ${script}
      "#!/usr/bin/env python3\n"
      "import sys\n\n"
      "from ${CMAKE_MATCH_2} import ${CMAKE_MATCH_3}\n\n"
      # A process of a pool imports it once more.
      "if __name__ == '__main__':\n"
      "    sys.exit(${CMAKE_MATCH_3}())\n")
    # colcon's --symlink-install links to this very file, so it must be executable itself.
    file(CHMOD ${script} PERMISSIONS
      OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    install(PROGRAMS ${script} DESTINATION lib/${PROJECT_NAME})
    if(CMAKE_MATCH_1 STREQUAL "sysid")
      install(PROGRAMS ${script} DESTINATION bin)
    endif()
  endforeach()
endfunction()
