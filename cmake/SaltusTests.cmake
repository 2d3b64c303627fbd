# SPDX-License-Identifier: MIT
#
# Tests register themselves by their place:
#   tests/unit/*_test.c, tests/property/*_test.c, tests/limit/*_test.c   one cmocka program each
#   tests/scripts/*.sh, *.py                                             one test each
#   tests/fuzz/*_fuzz.c                                 replay of the corpus in tests/fuzz/corpus
#   examples/*.c           each runs without arguments; prints examples/expected/*.txt if there
#
# SALTUS_TEST_SHARE=N in the environment of the tests takes every N-th of what they repeat: seeds, models of the gallery,
# cases. Sanitizers make a run several times slower and look at the code that runs, not at how often it does.
set(test_share 1)
if(SALTUS_SANITIZE)
  set(test_share 4)
endif()
set(SALTUS_TEST_ENVIRONMENT
  "SALTUS=${PROJECT_BINARY_DIR}/saltus"
  "SALTUS_SOURCE=${PROJECT_SOURCE_DIR}"
  "SALTUS_BUILD=${PROJECT_BINARY_DIR}"
  "SALTUS_TEST_SHARE=${test_share}"
  "XDG_CACHE_HOME=${PROJECT_BINARY_DIR}/scratch/cache"
  "XDG_STATE_HOME=${PROJECT_BINARY_DIR}/scratch/state")
set(test_scratch ${PROJECT_BINARY_DIR}/scratch)
file(MAKE_DIRECTORY ${test_scratch})

# every test runs in the scratch folder of the build tree; ARGN is its command
function(saltus_add_test name)
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${test_scratch})
  set_tests_properties(${name} PROPERTIES
    ENVIRONMENT "${SALTUS_TEST_ENVIRONMENT}" TIMEOUT 300 SKIP_RETURN_CODE 77)
endfunction()

# a program that may look inside the library
function(saltus_inner_program target)
  add_executable(${target} ${ARGN})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${target} PRIVATE
    saltus_static saltus_flags SuiteSparse::KLU Threads::Threads m)
  set_target_properties(${target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
endfunction()

find_path(CMOCKA_INCLUDE_DIR cmocka.h)
find_library(CMOCKA_LIBRARY cmocka)
mark_as_advanced(CMOCKA_INCLUDE_DIR CMOCKA_LIBRARY)
if(NOT CMOCKA_INCLUDE_DIR OR NOT CMOCKA_LIBRARY)
  message(FATAL_ERROR "the tests need cmocka (Debian: libcmocka-dev, or scripts/setup.sh test); "
    "-DSALTUS_TESTS=OFF builds without them")
endif()
foreach(group unit property limit)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${group}/*_test.c)
  foreach(source IN LISTS sources)
    get_filename_component(file_name ${source} NAME_WE)
    string(REGEX REPLACE "_test$" "" name ${file_name})
    set(target ${group}_${name}_test)
    saltus_inner_program(${target} ${source})
    target_include_directories(${target} SYSTEM PRIVATE ${CMOCKA_INCLUDE_DIR})
    target_link_libraries(${target} PRIVATE ${CMOCKA_LIBRARY})
    if(name MATCHES "allocation")  # counts calls of the C library's functions
      target_link_options(${target} PRIVATE
        LINKER:--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc)
    endif()
    saltus_add_test(${group}.${name} ${target})
  endforeach()
endforeach()

# the parser and the compiler without the rest of the library, for the scripts that compare their messages
foreach(tool IN ITEMS lisma_parse_tool lisma_check_tool)
  saltus_inner_program(${tool} ${PROJECT_SOURCE_DIR}/tests/tools/${tool}.c)
endforeach()

# runs models under callgrind, which counts what an event costs
saltus_inner_program(event_cost_tool ${PROJECT_SOURCE_DIR}/tests/tools/event_cost_tool.c)

# reads results in HDF5 for the tests of files
if(HDF5_FOUND)
  add_executable(h5_tool ${PROJECT_SOURCE_DIR}/tests/tools/h5_tool.c)
  target_link_libraries(h5_tool PRIVATE saltus_flags PkgConfig::HDF5)
  set_target_properties(h5_tool PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
endif()

file(GLOB sources CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/tests/scripts/*.sh ${PROJECT_SOURCE_DIR}/tests/scripts/*.py)
# what looks at texts only says the same with sanitizers
set(text_scripts editors forbidden generated headers layers workbench_words)
foreach(source IN LISTS sources)
  get_filename_component(name ${source} NAME_WE)
  if(SALTUS_SANITIZE AND name IN_LIST text_scripts)
    continue()
  elseif(source MATCHES "\\.py$")
    saltus_add_test(script.${name} python3 ${source})
  else()
    saltus_add_test(script.${name} bash ${source})
  endif()
endforeach()

# a browser is slow where it has no core of its own, and so are compilers that build the whole program
set_tests_properties(script.workbench_browser script.determinism PROPERTIES TIMEOUT 900)

# The laws of the engine: a slice of what `make laws` runs. The tools give the scripts the syntax tree of a model and a
# ball that bounces.
saltus_inner_program(laws_tree_tool ${PROJECT_SOURCE_DIR}/tests/laws/tree_tool.c)
saltus_inner_program(laws_bounce ${PROJECT_SOURCE_DIR}/tests/laws/bounce.c)
set(laws ${PROJECT_SOURCE_DIR}/tests/laws)
set(laws_now --law relations --law states --law state --law time --law shift --law number --law beside --law spelling
  --law records --law runs)
if(SALTUS_SANITIZE)
  set(laws_slice gallery/20 gen:stops:1 gen:cells:1 --generated 17)
else()
  set(laws_slice gallery/10 gen:stops:1 gen:stops:2 gen:stops:3 gen:cells:1 gen:balances:1 gen:50117 gen:50033 --generated 51)
  saltus_add_test(laws.figures python3 ${laws}/figures.py)
endif()
saltus_add_test(laws.slice python3 ${laws}/laws.py ${laws_slice} ${laws_now} --sample 1
  --known ${laws}/known/laws.txt)
saltus_add_test(laws.self python3 ${laws}/self_test.py)

# With libFuzzer the targets search; everywhere else they replay what was found.
add_custom_target(saltus_fuzz)
# parts of the program, which is no library
foreach(part IN ITEMS json lsp lsp_answers lsp_document lsp_files lsp_names lsp_view lsp_words text)
  list(APPEND fuzz_lsp_parts ${PROJECT_SOURCE_DIR}/cli/${part}.c)
endforeach()
foreach(part IN ITEMS serve_folder serve_page_none page_files json text)
  list(APPEND fuzz_http_parts ${PROJECT_SOURCE_DIR}/cli/${part}.c)
endforeach()
set(fuzz_http_libraries MICROHTTPD)
foreach(part IN ITEMS read foreign block_run block_process archive)
  list(APPEND fuzz_fmu_parts ${PROJECT_SOURCE_DIR}/fmi/${part}.c)
endforeach()
set(fuzz_fmu_libraries LIBZIP EXPAT)
set_source_files_properties(${PROJECT_SOURCE_DIR}/fmi/foreign.c PROPERTIES COMPILE_OPTIONS -Wno-pedantic)
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.c)
foreach(source IN LISTS sources)
  get_filename_component(file_name ${source} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" name ${file_name})
  set(missing FALSE)
  foreach(library IN LISTS fuzz_${name}_libraries)
    if(NOT ${library}_FOUND)
      set(missing TRUE)
    endif()
  endforeach()
  if(missing)
    continue()
  endif()
  set(corpus ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
  if(SALTUS_FUZZ)
    saltus_inner_program(fuzz_${name} ${source} ${fuzz_${name}_parts})
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    saltus_add_test(fuzz.${name} fuzz_${name} -runs=0 ${corpus})
  else()
    saltus_inner_program(fuzz_${name} ${source} ${fuzz_${name}_parts}
      ${PROJECT_SOURCE_DIR}/tests/fuzz/replay.c)
    saltus_add_test(fuzz.${name} fuzz_${name} ${corpus})
  endif()
  saltus_use_optional(fuzz_${name} ${fuzz_${name}_libraries})
  add_dependencies(saltus_fuzz fuzz_${name})
endforeach()

foreach(name IN LISTS SALTUS_EXAMPLE_TARGETS)
  set(expected ${PROJECT_SOURCE_DIR}/examples/expected/${name}.txt)
  if(EXISTS ${expected})
    saltus_add_test(example.${name} python3
      ${PROJECT_SOURCE_DIR}/tests/tools/compare_output.py ${expected}
      $<TARGET_FILE:example_${name}>)
  else()
    saltus_add_test(example.${name} example_${name})
  endif()
endforeach()

# The Python package, with the interpreter that it was built for. A sanitizer must be there before
# the interpreter is.
if(TARGET saltus_python)
  set(python_tests ${PROJECT_SOURCE_DIR}/python/tests)
  set(python_environment "PYTHONPATH=${PROJECT_BINARY_DIR}/python" "MPLBACKEND=Agg" "PYTHONDONTWRITEBYTECODE=1")
  if(SALTUS_SANITIZE MATCHES "address")
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libasan.so
      OUTPUT_VARIABLE python_preload OUTPUT_STRIP_TRAILING_WHITESPACE)
    # what the interpreter itself keeps until its end is no leak of ours
    list(APPEND python_environment "LD_PRELOAD=${python_preload}" "ASAN_OPTIONS=detect_leaks=0")
  endif()
  function(saltus_python_test name)
    saltus_add_test(python.${name} ${SALTUS_PYTHON3} ${python_tests}/run.py test_${name} ${ARGN})
    set_property(TEST python.${name} APPEND PROPERTY ENVIRONMENT ${python_environment})
  endfunction()
  saltus_python_test(runs)
  saltus_python_test(sim)
  saltus_python_test(experiments)
  saltus_python_test(threads)
  saltus_python_test(fmu)
  saltus_python_test(docs)
  saltus_python_test(notebook nbconvert ipykernel)
else()
  saltus_add_test(python.package ${CMAKE_COMMAND} -E echo
    "skipped: the package was not built, there is no ${SALTUS_PYTHON_MISSING}")
  set_tests_properties(python.package PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:")
endif()

# The longest ones begin first: one that begins last has the machine to itself.
set(long_tests script.workbench_browser script.determinism script.native_gallery script.sensitivities laws.slice
  script.readme script.fmi_blocks script.vessels script.manual script.limits script.report script.local_events)
list(LENGTH long_tests cost)
foreach(name IN LISTS long_tests)
  if(TEST ${name})
    set_tests_properties(${name} PROPERTIES COST ${cost})
  endif()
  math(EXPR cost "${cost} - 1")
endforeach()
