# SPDX-License-Identifier: MIT
#
# The command line, the examples and the benchmarks. All see the public headers only, but for
# benchmarks of a single module.

file(GLOB cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.c)
if(cli_sources)
  add_executable(saltus_cli ${cli_sources})
  set_target_properties(saltus_cli PROPERTIES
    OUTPUT_NAME saltus
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_link_libraries(saltus_cli PRIVATE saltus_static saltus_flags m)
endif()

# examples use the shared library: what they need must be exported
set(SALTUS_EXAMPLE_TARGETS "")
file(GLOB example_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.c)
if(SALTUS_EXAMPLES)
  foreach(source IN LISTS example_sources)
    get_filename_component(name ${source} NAME_WE)
    add_executable(example_${name} ${source})
    set_target_properties(example_${name} PROPERTIES
      OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
    target_link_libraries(example_${name} PRIVATE saltus_shared saltus_flags Threads::Threads m)
    list(APPEND SALTUS_EXAMPLE_TARGETS ${name})
  endforeach()
endif()

# programs of the CDCSIS dialect; the paper's own text is not held to our warnings
file(GLOB cdcsis_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/cdcsis/*.c
  ${PROJECT_SOURCE_DIR}/examples/cdcsis/paper/*.c)
if(SALTUS_EXAMPLES)
  foreach(source IN LISTS cdcsis_sources)
    get_filename_component(name ${source} NAME_WE)
    add_executable(example_cdcsis_${name} ${source})
    set_target_properties(example_cdcsis_${name} PROPERTIES
      OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples/cdcsis)
    target_link_libraries(example_cdcsis_${name} PRIVATE saltus_shared m)
    if(NOT source MATCHES "/paper/")
      target_link_libraries(example_cdcsis_${name} PRIVATE saltus_flags)
    endif()
  endforeach()
endif()

file(GLOB bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.c)
if(SALTUS_BENCH OR SALTUS_TESTS)
  # a test runs them in a tiny form
  add_custom_target(saltus_bench)
  foreach(source IN LISTS bench_sources)
    get_filename_component(name ${source} NAME_WE)
    add_executable(bench_${name} ${source})
    set_target_properties(bench_${name} PROPERTIES
      OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
    target_compile_options(bench_${name} PRIVATE -O3)
    target_include_directories(bench_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(bench_${name} PRIVATE saltus_static saltus_flags m)
    add_dependencies(saltus_bench bench_${name})
  endforeach()
  add_dependencies(saltus_bench saltus_cli)  # one of them starts it
endif()
