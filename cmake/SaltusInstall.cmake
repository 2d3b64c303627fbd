# SPDX-License-Identifier: MIT

# what `make install` builds: tests, examples and benchmarks stay out
add_custom_target(saltus_installed)
add_dependencies(saltus_installed saltus_static saltus_shared saltus_rt_static saltus_rt_shared)
if(TARGET saltus_cli)
  add_dependencies(saltus_installed saltus_cli)
endif()

install(TARGETS saltus_static saltus_shared saltus_rt_static saltus_rt_shared
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET saltus_fmu)
  add_dependencies(saltus_installed saltus_fmu)
  install(TARGETS saltus_fmu LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/saltus)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/saltus
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
if(TARGET saltus_cli)
  install(TARGETS saltus_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

set(SALTUS_PC_PRIVATE "-lklu -lbtf -lcolamd -lamd -lsuitesparseconfig -lm")
if(Sundials_FOUND)
  string(APPEND SALTUS_PC_PRIVATE " -lsundials_cvode -lsundials_ida")
endif()
if(ZLIB_FOUND)
  string(APPEND SALTUS_PC_PRIVATE " -lz")
endif()
if(HDF5_FOUND)
  string(APPEND SALTUS_PC_PRIVATE " ${HDF5_LINK_LIBRARIES}")
endif()
if(NLOPT_FOUND)
  string(APPEND SALTUS_PC_PRIVATE " -lnlopt")
endif()
# the loader looks in the usual places by itself; from others programs must be told the way
set(SALTUS_PC_RPATH "")
if(NOT CMAKE_INSTALL_PREFIX MATCHES "^/usr(/local)?/?$")
  set(SALTUS_PC_RPATH " -Wl,-rpath,${CMAKE_INSTALL_FULL_LIBDIR}")
endif()
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

install(FILES ${PROJECT_SOURCE_DIR}/docs/saltus.1
  DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)

# each shell looks in its own place
install(FILES ${PROJECT_SOURCE_DIR}/completions/saltus.bash
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME saltus OPTIONAL)
install(FILES ${PROJECT_SOURCE_DIR}/completions/_saltus
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions OPTIONAL)
install(FILES ${PROJECT_SOURCE_DIR}/completions/saltus.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d OPTIONAL)
