# SPDX-License-Identifier: MIT
#
# The command line, the examples and the benchmarks. All see the public headers only, but for
# benchmarks of a single module.

file(GLOB cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.c)

# `saltus serve`: the library that answers browsers, and the page that workbench/ makes
set(SALTUS_PAGE ${PROJECT_SOURCE_DIR}/build/workbench/page.c CACHE FILEPATH
  "The workbench's page as C, made by `make workbench`")
set(SALTUS_WEB ${PROJECT_SOURCE_DIR}/build/workbench/web.c CACHE FILEPATH
  "The page with the engine inside as C, made by `make web`")
if(MICROHTTPD_FOUND)
  list(FILTER cli_sources EXCLUDE REGEX "/serve_none\\.c$")
  if(EXISTS ${SALTUS_PAGE})
    list(FILTER cli_sources EXCLUDE REGEX "/serve_page_none\\.c$")
    list(APPEND cli_sources ${SALTUS_PAGE})
    if(EXISTS ${SALTUS_WEB} AND NOT EMSCRIPTEN)
      list(FILTER cli_sources EXCLUDE REGEX "/serve_web_none\\.c$")
      list(APPEND cli_sources ${SALTUS_WEB})
      get_filename_component(web_folder ${SALTUS_WEB} DIRECTORY)
      set_source_files_properties(${SALTUS_WEB} PROPERTIES OBJECT_DEPENDS ${web_folder}/workbench.html)
    endif()
  else()
    message(STATUS "no page in `saltus serve`: it is not built (make workbench)")
  endif()
else()
  list(FILTER cli_sources EXCLUDE REGEX "/(serve(_engine|_export|_folder|_http|_page_none|_web_none)?|watch)\\.c$")
endif()
if(cli_sources)
  add_executable(saltus_cli ${cli_sources})
  set_target_properties(saltus_cli PROPERTIES
    OUTPUT_NAME saltus
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_link_libraries(saltus_cli PRIVATE saltus_static saltus_flags m)
  target_include_directories(saltus_cli PRIVATE ${PROJECT_SOURCE_DIR}/src)  # for base/library.h
  saltus_use_optional(saltus_cli MPI)
  if(MICROHTTPD_FOUND)
    target_link_libraries(saltus_cli PRIVATE Threads::Threads)
    saltus_use_optional(saltus_cli MICROHTTPD)
    target_include_directories(saltus_cli PRIVATE ${PROJECT_SOURCE_DIR}/cli)  # for the page's file
  endif()
endif()

# the engine of the page with the engine inside (scripts/web.sh)
if(EMSCRIPTEN)
  set(web_sources ${cli_sources})
  list(REMOVE_ITEM web_sources ${SALTUS_PAGE})
  list(FILTER web_sources INCLUDE REGEX
    "/(page[^/]*|lsp[^/]*|json|text|options|replay|input|files|message|report|report_page|figure|graph|summary|output|pace)\\.c$")
  list(FILTER web_sources EXCLUDE REGEX "/lsp_stdio\\.c$")
  add_executable(saltus_web ${web_sources} ${PROJECT_SOURCE_DIR}/workbench/engine/wasm.c)
  set_target_properties(saltus_web PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_include_directories(saltus_web PRIVATE ${PROJECT_SOURCE_DIR}/cli)
  target_link_libraries(saltus_web PRIVATE saltus_static saltus_flags m)
  target_link_options(saltus_web PRIVATE --no-entry -sMODULARIZE=1 -sEXPORT_NAME=SaltusEngine
    -sENVIRONMENT=worker -sDYNAMIC_EXECUTION=0 -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=2GB
    -sTOTAL_STACK=8MB -sINITIAL_MEMORY=32MB -sEXPORTED_FUNCTIONS=_malloc,_free -sINCOMING_MODULE_JS_API=wasmBinary)
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
