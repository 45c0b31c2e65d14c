# preCICE's calls over Ligament, for CMake: find_package(precice 3) and the target precice::precice.
get_filename_component(precice_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET precice::precice)
  add_library(precice::precice SHARED IMPORTED)
  set_target_properties(precice::precice PROPERTIES
    IMPORTED_LOCATION "${precice_prefix}/lib/libprecice.so"
    INTERFACE_INCLUDE_DIRECTORIES "${precice_prefix}/include"
    INTERFACE_COMPILE_FEATURES cxx_std_14)
endif()
