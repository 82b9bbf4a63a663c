# SPDX-License-Identifier: Apache-2.0
# The program and its helper. The program links the rooms statically and little else (libc, libm, jansson, zlib):
# parts are opened on first use, HDF5 lives in a process of its own.

if(TARGET artel_static AND TARGET artel_cli)
    add_executable(artel ${ARTEL_CLI_OBJECTS})
    target_link_libraries(artel PRIVATE artel_static)
    set_target_properties(artel PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endif()

set(ARTEL_HELPER_OBJECTS "")
file(GLOB_RECURSE helper CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/keras/hdf5_helper/*.c)
if(helper AND TARGET artel_static)
    pkg_check_modules(HDF5 IMPORTED_TARGET hdf5-serial)
    if(NOT HDF5_FOUND)
        pkg_check_modules(HDF5 IMPORTED_TARGET hdf5)
    endif()
    pkg_check_modules(SECCOMP IMPORTED_TARGET libseccomp)
    if(HDF5_FOUND AND SECCOMP_FOUND)
        add_library(artel_hdf5_helper OBJECT ${helper})
        target_link_libraries(artel_hdf5_helper PRIVATE artel_needs PkgConfig::HDF5 PkgConfig::SECCOMP)
        set(ARTEL_HELPER_OBJECTS $<TARGET_OBJECTS:artel_hdf5_helper>)
        add_executable(artel-hdf5 ${ARTEL_HELPER_OBJECTS})
        target_link_libraries(artel-hdf5 PRIVATE artel_static PkgConfig::HDF5 PkgConfig::SECCOMP)
        set_target_properties(artel-hdf5 PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    else()
        message(WARNING "artel-hdf5 is left out: it needs libhdf5-dev and libseccomp-dev; .h5 files cannot be read or written")
    endif()
endif()

# Everything but the tests and examples; what scripts/build-variant builds.
add_custom_target(programs)
foreach(target artel artel-hdf5 artel_shared ${ARTEL_PARTS})
    if(TARGET ${target})
        add_dependencies(programs ${target})
    endif()
endforeach()
