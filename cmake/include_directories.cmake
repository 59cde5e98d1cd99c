# Two repairs of include directories, for ROS 2 from wheels. With a ROS distribution neither
# finds anything to do.

# The wheels export include directories of the machine they were built on, and CMake refuses an
# imported target that names a directory which does not exist.
function(_sysid_drop_missing_include_directories)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(directories ${target} INTERFACE_INCLUDE_DIRECTORIES)
    if(NOT directories)
      continue()
    endif()
    set(existing "")
    foreach(directory IN LISTS directories)
      # A generator expression is not a path yet; CMake checks what it evaluates to.
      if(directory MATCHES "\\$<" OR EXISTS "${directory}")
        list(APPEND existing "${directory}")
      endif()
    endforeach()
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${existing}")
  endforeach()
endfunction()

# The generated Python library exports numpy's headers. With the virtual environment inside the
# source tree that is an exported path into the sources, which CMake refuses: keep it private.
function(_sysid_keep_source_paths_private)
  set(target ${PROJECT_NAME}__rosidl_generator_py)
  get_target_property(directories ${target} INTERFACE_INCLUDE_DIRECTORIES)
  if(NOT directories)
    return()
  endif()
  list(TRANSFORM directories REPLACE "^(${PROJECT_SOURCE_DIR}/.*)$" "$<BUILD_INTERFACE:\\1>")
  set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${directories}")
endfunction()

# Deferred to the end, when all targets exist.
cmake_language(DEFER CALL _sysid_drop_missing_include_directories)
cmake_language(DEFER CALL _sysid_keep_source_paths_private)
