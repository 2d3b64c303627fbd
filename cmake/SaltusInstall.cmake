# SPDX-License-Identifier: MIT
#
# What is installed, and where. Everything finds its companions by relative paths, so an installed
# tree can be moved; only the libraries of others are looked for where the build found them.
option(SALTUS_BUNDLE "Install the libraries of others beside ours, for a tarball that needs no packages" OFF)

# what `make install` builds: tests, examples and benchmarks stay out
add_custom_target(saltus_installed)
add_dependencies(saltus_installed saltus_static saltus_shared saltus_rt_static saltus_rt_shared)
if(TARGET saltus_cli)
  add_dependencies(saltus_installed saltus_cli)
endif()

set(saltus_loaded saltus_shared saltus_rt_shared)
foreach(target saltus_cli saltus_fmu)
  if(TARGET ${target})
    list(APPEND saltus_loaded ${target})
  endif()
endforeach()
# the loader looks in the usual places by itself; from others it must be told the way
if(NOT CMAKE_INSTALL_PREFIX MATCHES "^/usr(/local)?/?$")
  set_target_properties(${saltus_loaded} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
endif()
set(bundle "")
if(SALTUS_BUNDLE)
  set(bundle RUNTIME_DEPENDENCY_SET saltus_foreign)
  file(RELATIVE_PATH lib_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(${saltus_loaded} PROPERTIES INSTALL_RPATH_USE_LINK_PATH OFF
    INSTALL_RPATH "$ORIGIN/saltus;$ORIGIN")
  if(TARGET saltus_cli)
    set_target_properties(saltus_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${lib_from_bin}/saltus")
  endif()
  # the old kind of path also serves the libraries that those libraries load
  foreach(target IN LISTS saltus_loaded)
    target_link_options(${target} PRIVATE LINKER:--disable-new-dtags)
  endforeach()
endif()

install(TARGETS saltus_static saltus_shared saltus_rt_static saltus_rt_shared ${bundle}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET saltus_fmu)
  add_dependencies(saltus_installed saltus_fmu)
  install(TARGETS saltus_fmu ${bundle} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/saltus)
  install(FILES ${PROJECT_BINARY_DIR}/saltus_fmu_sources.zip
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/saltus OPTIONAL)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/saltus
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
if(TARGET saltus_cli)
  install(TARGETS saltus_cli ${bundle} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  file(RELATIVE_PATH data_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_DATADIR}/saltus)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/cli/shelf.c PROPERTIES
    COMPILE_DEFINITIONS "SALTUS_DATA_PATH=\"${data_from_bin}\"")
endif()
if(SALTUS_BUNDLE)
  install(RUNTIME_DEPENDENCY_SET saltus_foreign
    PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|resolv)\\.so" "^ld-linux"
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/saltus)
  # what is loaded when it is used, with all it needs, under the names that are asked for
  set(files "set(optional ${SALTUS_OPTIONAL_FILES})\nset(folder ${CMAKE_INSTALL_LIBDIR}/saltus)\n")
  install(CODE "${files}" CODE [[
    file(GET_RUNTIME_DEPENDENCIES LIBRARIES ${optional} RESOLVED_DEPENDENCIES_VAR needed
      PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|resolv)\\.so" "^ld-linux")
    file(INSTALL DESTINATION ${CMAKE_INSTALL_PREFIX}/${folder} TYPE SHARED_LIBRARY FOLLOW_SYMLINK_CHAIN FILES ${optional} ${needed})
  ]])
endif()

set(SALTUS_PC_PRIVATE "-lklu -lbtf -lcolamd -lamd -lsuitesparseconfig -lm")
if(Sundials_FOUND)
  string(APPEND SALTUS_PC_PRIVATE " -lsundials_cvode -lsundials_ida")
endif()
set(SALTUS_PC_RPATH "")
if(NOT CMAKE_INSTALL_PREFIX MATCHES "^/usr(/local)?/?$")
  set(SALTUS_PC_RPATH " -Wl,-rpath,\${libdir}")
endif()
file(RELATIVE_PATH SALTUS_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
foreach(name saltus saltus_rt)
  set(SALTUS_PC_NAME ${name})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/saltus.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# find_package(Saltus)
include(CMakePackageConfigHelpers)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/SaltusConfig.cmake.in
  ${PROJECT_BINARY_DIR}/SaltusConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Saltus
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/SaltusConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/SaltusConfig.cmake
  ${PROJECT_BINARY_DIR}/SaltusConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Saltus)

# the loader's cache has to learn of new libraries; only the system's own administrator can do that
install(CODE [[
  if("$ENV{DESTDIR}" STREQUAL "")
    execute_process(COMMAND ldconfig OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE ignored)
  endif()
]])

# The manual and the gallery, as they stand in the source, for `saltus docs` and `saltus gallery`.
# Not under share/doc: small systems leave that out.
set(SALTUS_DATA ${CMAKE_INSTALL_DATADIR}/saltus)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/models ${PROJECT_SOURCE_DIR}/examples
  DESTINATION ${SALTUS_DATA}
  PATTERN "notes" EXCLUDE PATTERN "*.1" EXCLUDE PATTERN "__pycache__" EXCLUDE PATTERN ".*" EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_SOURCE_DIR}/LICENSE
  DESTINATION ${SALTUS_DATA})
# the same as pages for a browser, where `make manual` has built them
install(DIRECTORY ${PROJECT_SOURCE_DIR}/build/manual DESTINATION ${SALTUS_DATA} OPTIONAL)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

# what desktops know of us
install(FILES ${PROJECT_SOURCE_DIR}/packaging/saltus-mime.xml
  DESTINATION ${CMAKE_INSTALL_DATADIR}/mime/packages RENAME saltus.xml)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/saltus.svg
  DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps)
if(MICROHTTPD_FOUND)
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/saltus.desktop
    DESTINATION ${CMAKE_INSTALL_DATADIR}/applications)
endif()

install(FILES ${PROJECT_SOURCE_DIR}/docs/saltus.1
  DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)

# each shell looks in its own place
install(FILES ${PROJECT_SOURCE_DIR}/completions/saltus.bash
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME saltus OPTIONAL)
install(FILES ${PROJECT_SOURCE_DIR}/completions/_saltus
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions OPTIONAL)
install(FILES ${PROJECT_SOURCE_DIR}/completions/saltus.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d OPTIONAL)

# `make package`: a .deb and a tarball
set(CPACK_GENERATOR "TGZ")
set(CPACK_PACKAGE_NAME saltus)
set(CPACK_PACKAGE_VENDOR "Saltus developers")
set(CPACK_PACKAGE_CONTACT "Saltus developers <saltus@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "simulator of systems that flow and jump")
set(CPACK_PACKAGE_DESCRIPTION_FILE ${PROJECT_SOURCE_DIR}/packaging/description.txt)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_RESOURCE_FILE_README ${PROJECT_SOURCE_DIR}/README.md)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_FILE_NAME saltus-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
string(TOLOWER ${CPACK_PACKAGE_FILE_NAME} CPACK_PACKAGE_FILE_NAME)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "gcc | clang | c-compiler, libcairo2, zlib1g, libhdf5-103-1, libnlopt0, libmicrohttpd12, libzip4, libexpat1")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "pkg-config, cmake, xdg-utils, graphviz")
include(CPack)
