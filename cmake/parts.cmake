# SPDX-License-Identifier: Apache-2.0
# Parts: what needs a library that the program does not link, so that it starts in milliseconds.
#
# Each folder src/<room>/part_<name>/ becomes libartel-<name>.so beside the program. It is opened with dlopen on first
# use and shows only functions named artel_part_*, marked ARTEL_API. It carries its own copy of the library's internal
# functions (there are no process globals, so two copies do not disagree). A part whose libraries are not installed is
# left out, and the build says so; artel then says what it lacks.

# The libraries of a part, as pkg-config names.
set(ARTEL_PART_image libjpeg libpng)
set(ARTEL_PART_archive libzip)
set(ARTEL_PART_curl libcurl)
set(ARTEL_PART_tls openssl)

set(ARTEL_PARTS "")
set(ARTEL_PART_OBJECTS "")
set(ARTEL_PART_NEEDS "")
function(artel_add_part folder name)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.c)
    if(NOT sources)
        return()
    endif()
    string(TOUPPER ${name} upper)
    if(ARTEL_PART_${name})
        pkg_check_modules(PART_${upper} IMPORTED_TARGET ${ARTEL_PART_${name}})
        if(NOT PART_${upper}_FOUND)
            message(WARNING "part ${name} is left out: it needs ${ARTEL_PART_${name}}")
            return()
        endif()
        set(needs PkgConfig::PART_${upper})
    endif()
    add_library(artel_part_${name} OBJECT ${sources})
    target_link_libraries(artel_part_${name} PRIVATE artel_needs ${needs})
    add_library(artel-${name} MODULE $<TARGET_OBJECTS:artel_part_${name}>)
    set_target_properties(artel-${name} PROPERTIES
        PREFIX lib
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
        LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/part.map)
    target_link_options(artel-${name} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/part.map -Wl,--exclude-libs,ALL)
    target_link_libraries(artel-${name} PRIVATE artel_static ${needs})
    set(ARTEL_PARTS ${ARTEL_PARTS} artel-${name} PARENT_SCOPE)
    set(ARTEL_PART_OBJECTS ${ARTEL_PART_OBJECTS} $<TARGET_OBJECTS:artel_part_${name}> PARENT_SCOPE)
    set(ARTEL_PART_NEEDS ${ARTEL_PART_NEEDS} ${needs} PARENT_SCOPE)
endfunction()

if(TARGET artel_static)
    file(GLOB folders CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*/part_*)
    foreach(folder IN LISTS folders)
        string(REGEX REPLACE ".*/part_" "" name ${folder})
        artel_add_part(${folder} ${name})
    endforeach()
endif()
