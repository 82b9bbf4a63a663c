# SPDX-License-Identifier: Apache-2.0
# make install: the program, the library, its parts and helper (found relative to either), headers, what pkg-config and CMake ask for,
# manual pages, completion, documents. cpack makes three Debian packages of the same.
set(relocatable ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH ARTEL_PREFIX_FROM_PC /${relocatable} /)
string(REGEX REPLACE "/$" "" ARTEL_PREFIX_FROM_PC "${ARTEL_PREFIX_FROM_PC}")
configure_file(${PROJECT_SOURCE_DIR}/artel.pc.in ${PROJECT_BINARY_DIR}/artel.pc @ONLY)
file(RELATIVE_PATH ARTEL_PREFIX_FROM_CONFIG /${CMAKE_INSTALL_LIBDIR}/cmake/artel /)
configure_file(${PROJECT_SOURCE_DIR}/cmake/artel-config.cmake.in ${PROJECT_BINARY_DIR}/cmake/artel-config.cmake @ONLY)
include(CMakePackageConfigHelpers)
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(compatible SameMinorVersion)
else()
    set(compatible SameMajorVersion)
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/artel-config-version.cmake COMPATIBILITY ${compatible})

# -- what a program is written against --
install(FILES ${PROJECT_BINARY_DIR}/artel.pc DESTINATION ${relocatable} COMPONENT dev)
install(FILES ${PROJECT_BINARY_DIR}/cmake/artel-config.cmake ${PROJECT_BINARY_DIR}/cmake/artel-config-version.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/artel COMPONENT dev)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/artel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
if(TARGET artel_shared)
    install(TARGETS artel_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT lib NAMELINK_COMPONENT dev)
    install(FILES $<TARGET_FILE:artel_static> DESTINATION ${CMAKE_INSTALL_LIBDIR} RENAME libartel.a COMPONENT dev)
endif()

# -- what runs --
if(TARGET artel)
    install(TARGETS artel RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
endif()
if(TARGET artel-hdf5)
    install(TARGETS artel-hdf5 RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/artel COMPONENT lib)
endif()
foreach(part IN LISTS ARTEL_PARTS)
    install(TARGETS ${part} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/artel COMPONENT lib)
endforeach()

# -- what is read --
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
    DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program FILES_MATCHING PATTERN "*.md")

# Manual pages and completion come from the tables of the options: the program itself writes them.
if(TARGET artel AND NOT ARTEL_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/cli/commands.list)
    file(STRINGS ${PROJECT_SOURCE_DIR}/src/cli/commands.list commands REGEX "^COMMAND\\(")
    set(made ${PROJECT_BINARY_DIR}/share)
    set(pages ${made}/artel.1.gz)
    list(TRANSFORM commands REPLACE "COMMAND\\((.*)\\)" "\\1")
    list(TRANSFORM commands REPLACE "_" "-")
    foreach(command IN LISTS commands)
        list(APPEND pages ${made}/artel-${command}.1.gz)
    endforeach()
    add_custom_command(OUTPUT ${pages} ${made}/artel.bash ${made}/_artel ${made}/artel.fish
        COMMAND ${PROJECT_SOURCE_DIR}/scripts/write-pages $<TARGET_FILE:artel> ${made} ${commands}
        DEPENDS artel ${PROJECT_SOURCE_DIR}/scripts/write-pages VERBATIM)
    add_custom_target(artel-pages ALL DEPENDS ${pages})
    add_dependencies(programs artel-pages)
    install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
    install(FILES ${made}/artel.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME artel COMPONENT program)
    install(FILES ${made}/_artel DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT program)
    install(FILES ${made}/artel.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)
endif()

include(packages)
