# SPDX-License-Identifier: MIT
#
# Exchange of models: the library that FMUs carry, on the public headers, and the writer of archives
# in the command line. libzip is needed for the latter.
set(SALTUS_FMI_IMPORT OFF)
if(LIBZIP_FOUND AND EXPAT_FOUND)
  set(SALTUS_FMI_IMPORT ON)
endif()

set(fmi_source ${PROJECT_SOURCE_DIR}/fmi)
add_library(saltus_fmu MODULE ${fmi_source}/fmi2.c ${fmi_source}/fmi3.c ${fmi_source}/instance.c
  ${fmi_source}/exchange.c ${fmi_source}/direction.c
  ${fmi_source}/variables.c)
target_link_libraries(saltus_fmu PRIVATE saltus_static saltus_flags m)
set_target_properties(saltus_fmu PROPERTIES
  PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
# several FMUs live in one process: what one of them calls is its own
target_link_options(saltus_fmu PRIVATE LINKER:--exclude-libs,ALL LINKER:-Bsymbolic
  LINKER:--build-id=none $<$<CONFIG:Release>:-s>)

# the same as sources, for machines that have a C compiler
file(GLOB_RECURSE fmu_parts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.[ch]
  ${PROJECT_SOURCE_DIR}/src/*.def ${PROJECT_SOURCE_DIR}/src/*.inc ${PROJECT_SOURCE_DIR}/include/saltus/*.h ${fmi_source}/*.[ch])
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/saltus_fmu_sources.zip
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DSTAGE=${PROJECT_BINARY_DIR}/fmu_sources
    -DOUT=${PROJECT_BINARY_DIR}/saltus_fmu_sources.zip -P ${PROJECT_SOURCE_DIR}/cmake/FmuSources.cmake
  DEPENDS ${fmu_parts} ${PROJECT_SOURCE_DIR}/cmake/FmuSources.cmake VERBATIM)
add_custom_target(saltus_fmu_sources DEPENDS ${PROJECT_BINARY_DIR}/saltus_fmu_sources.zip)

set(block_sources ${fmi_source}/read.c ${fmi_source}/foreign.c ${fmi_source}/block.c
  ${fmi_source}/block_run.c ${fmi_source}/block_process.c)
# functions found by name are pointers to data first
set_source_files_properties(${fmi_source}/foreign.c PROPERTIES COMPILE_OPTIONS -Wno-pedantic)

if(TARGET saltus_python)
  target_compile_definitions(saltus_python PRIVATE
    SALTUS_HAVE_FMI_IMPORT=$<BOOL:${SALTUS_FMI_IMPORT}>)
  if(SALTUS_FMI_IMPORT)
    target_sources(saltus_python PRIVATE ${block_sources} ${fmi_source}/archive.c)
    target_include_directories(saltus_python PRIVATE ${PROJECT_SOURCE_DIR}/src)  # base/library.h
    saltus_use_optional(saltus_python LIBZIP EXPAT)
  endif()
endif()

if(TARGET saltus_cli)
  add_dependencies(saltus_cli saltus_fmu saltus_fmu_sources)
  target_compile_definitions(saltus_cli PRIVATE SALTUS_LIBDIR="${CMAKE_INSTALL_LIBDIR}"
    SALTUS_HAVE_LIBZIP=$<BOOL:${LIBZIP_FOUND}>
    SALTUS_HAVE_FMI_IMPORT=$<BOOL:${SALTUS_FMI_IMPORT}>)
  if(LIBZIP_FOUND)
    target_sources(saltus_cli PRIVATE ${fmi_source}/export.c ${fmi_source}/description.c
      ${fmi_source}/sources.c ${fmi_source}/variables.c ${fmi_source}/archive.c)
    saltus_use_optional(saltus_cli LIBZIP)
  endif()
  if(SALTUS_FMI_IMPORT)
    target_sources(saltus_cli PRIVATE ${block_sources} ${fmi_source}/simulate.c ${fmi_source}/rules.c)
    saltus_use_optional(saltus_cli EXPAT)
  endif()
endif()
