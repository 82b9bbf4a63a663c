# SPDX-License-Identifier: Apache-2.0
# make install: bin/artel, lib/libartel.so, lib/artel/ (helper and parts, found relative to the program or library),
# headers, pkg-config file.
configure_file(${PROJECT_SOURCE_DIR}/artel.pc.in ${PROJECT_BINARY_DIR}/artel.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/artel.pc DESTINATION lib/pkgconfig)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/artel DESTINATION include FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION share/doc/artel)
if(TARGET artel_shared)
    install(TARGETS artel_shared LIBRARY DESTINATION lib)
endif()
if(TARGET artel)
    install(TARGETS artel RUNTIME DESTINATION bin)
endif()
if(TARGET artel-hdf5)
    install(TARGETS artel-hdf5 RUNTIME DESTINATION lib/artel)
endif()
foreach(part IN LISTS ARTEL_PARTS)
    install(TARGETS ${part} LIBRARY DESTINATION lib/artel)
endforeach()
