# SPDX-License-Identifier: Apache-2.0
# The rooms in reading order (DESIGN.md section 4) and the library they make.
# scripts/check-includes reads the order from this list.
set(ARTEL_ROOMS
    base tensor text kernel graph op exec device data nn keras
    net cluster launch coll ps
    comm strategy function eager train observe estimator service cli)

# What sanitizers run all the time; the rest compiles in a third of the time without optimisation, and runs seldom.
set(ARTEL_WARM_ROOMS base tensor kernel exec coll)

# Sources of a folder without those that belong to a part, to the HDF5 helper or to a test.
function(artel_sources folder result)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.c)
    list(FILTER found EXCLUDE REGEX "/src/[a-z]+/(part_[a-z0-9_]+|hdf5_helper)/")
    set(${result} ${found} PARENT_SCOPE)
endfunction()

set(ARTEL_LIBRARY_OBJECTS "")
set(ARTEL_CLI_OBJECTS "")
foreach(room IN LISTS ARTEL_ROOMS)
    artel_sources(src/${room} sources)
    if(sources)
        if(room STREQUAL "kernel")
            set(vector ${sources})
            list(FILTER vector INCLUDE REGEX "/kernel/vector/")
            list(REMOVE_ITEM sources ${vector})
            artel_set_kernel_flags(${sources})
            foreach(set baseline avx2 avx512) # what the compiler vectorises: each file once for each instruction set
                string(TOUPPER ${set} isa)
                artel_kernel_flags(${PROJECT_SOURCE_DIR}/src/kernel/vector/all_${set}.c flags)
                add_library(artel_kernel_${set}_flags INTERFACE)
                target_compile_options(artel_kernel_${set}_flags INTERFACE ${flags})
                target_compile_definitions(artel_kernel_${set}_flags INTERFACE ARTEL__SIMD_SET=${set} ARTEL__SIMD_ISA=ARTEL__ISA_${isa})
                add_library(artel_kernel_${set} OBJECT ${vector})
                target_link_libraries(artel_kernel_${set} PRIVATE artel_needs artel_kernel_${set}_flags)
                list(APPEND ARTEL_LIBRARY_OBJECTS $<TARGET_OBJECTS:artel_kernel_${set}>)
            endforeach()
        endif()
        add_library(artel_${room} OBJECT ${sources})
        if(room STREQUAL "device")
            target_include_directories(artel_device SYSTEM PRIVATE ${PROJECT_SOURCE_DIR}/third_party)
        endif()
        if(room STREQUAL "base") # where the parts and the helper are, seen from the folder of the program
            file(RELATIVE_PATH from_program /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR}/artel)
            set_source_files_properties(${PROJECT_SOURCE_DIR}/src/base/part.c PROPERTIES
                COMPILE_DEFINITIONS ARTEL_FROM_PROGRAM="${from_program}/")
        endif()
        target_link_libraries(artel_${room} PRIVATE artel_needs)
        if(NOT room IN_LIST ARTEL_WARM_ROOMS)
            target_compile_options(artel_${room} PRIVATE ${ARTEL_COLD_FLAGS})
        endif()
        if(room STREQUAL "cli")
            list(APPEND ARTEL_CLI_OBJECTS $<TARGET_OBJECTS:artel_${room}>)
        else()
            list(APPEND ARTEL_LIBRARY_OBJECTS $<TARGET_OBJECTS:artel_${room}>)
        endif()
    endif()
endforeach()

if(ARTEL_LIBRARY_OBJECTS)
    # For the program, the helpers, the parts and the tests, which use artel__ functions.
    add_library(artel_static STATIC ${ARTEL_LIBRARY_OBJECTS})
    target_link_libraries(artel_static PUBLIC artel_needs)

    # For everybody else.
    add_library(artel_shared SHARED ${ARTEL_LIBRARY_OBJECTS})
    # While MAJOR is 0 every MINOR is a library of its own (include/artel/version.h).
    if(PROJECT_VERSION_MAJOR EQUAL 0)
        set(soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    else()
        set(soversion ${PROJECT_VERSION_MAJOR})
    endif()
    set_target_properties(artel_shared PROPERTIES
        OUTPUT_NAME artel
        VERSION ${PROJECT_VERSION}
        SOVERSION ${soversion}
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
        LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/libartel.map)
    target_include_directories(artel_shared INTERFACE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(artel_shared PRIVATE artel_needs)
    target_link_options(artel_shared PRIVATE
        -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/libartel.map)
    # The sanitizers' functions live in the program.
    if(NOT ARTEL_SANITIZE)
        target_link_options(artel_shared PRIVATE -Wl,--no-undefined)
    endif()
endif()
