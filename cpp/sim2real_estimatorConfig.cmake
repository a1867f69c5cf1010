# find_package(sim2real_estimator): the target sim2real_estimator::readers is the header of C++.
if(NOT TARGET sim2real_estimator::readers)
  add_library(sim2real_estimator::readers INTERFACE IMPORTED)
  # From share/sim2real_estimator/cmake, where this is installed, and from its source.
  set_target_properties(sim2real_estimator::readers PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}/../cpp/include"
    INTERFACE_COMPILE_FEATURES cxx_std_17)
endif()
