# SPDX-License-Identifier: MIT
#
# The Python package: an extension on the limited API beside the package's Python files, in
# BUILD/python, where tests use it as it is. scripts of python/ make a wheel of it.
option(SALTUS_PYTHON "Build the Python package if Python's headers are found" ON)

# Debian's own Python comes first: packages for it are what the tests can install
find_program(SALTUS_PYTHON3 python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(SALTUS_PYTHON3 python3)
mark_as_advanced(SALTUS_PYTHON3)
set(SALTUS_PYTHON_MISSING "")
set(python_include "")
if(SALTUS_PYTHON AND SALTUS_PYTHON3)
  execute_process(
    COMMAND ${SALTUS_PYTHON3} -c
      "import sys, sysconfig; print(sysconfig.get_path('include') if sys.version_info >= (3, 11) else '')"
    OUTPUT_VARIABLE python_include OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT python_include OR NOT EXISTS ${python_include}/Python.h)
  set(SALTUS_PYTHON_MISSING "Python 3.11 with its headers (Debian: python3-dev)")
  message(STATUS "no Python package: ${SALTUS_PYTHON_MISSING} not found")
  return()
endif()

set(python_source ${PROJECT_SOURCE_DIR}/python)
set(python_build ${PROJECT_BINARY_DIR}/python/saltus)
file(GLOB extension_sources CONFIGURE_DEPENDS ${python_source}/src/*.c)
add_library(saltus_python MODULE ${extension_sources})
target_include_directories(saltus_python SYSTEM PRIVATE ${python_include})
target_link_libraries(saltus_python PRIVATE saltus_static saltus_flags m)
# functions as pointers to data: so asks Python's interface
set_source_files_properties(${extension_sources} PROPERTIES COMPILE_OPTIONS -Wno-pedantic)
set_target_properties(saltus_python PROPERTIES
  PREFIX "" OUTPUT_NAME _saltus SUFFIX ".abi3.so"
  LIBRARY_OUTPUT_DIRECTORY ${python_build})
# nothing of the library shows beside the module's entry
target_link_options(saltus_python PRIVATE LINKER:--exclude-libs,ALL)

file(GLOB package_files CONFIGURE_DEPENDS
  ${python_source}/saltus/*.py ${python_source}/saltus/*.pyi ${python_source}/saltus/py.typed)
set(package_copies "")
foreach(file IN LISTS package_files)
  get_filename_component(name ${file} NAME)
  add_custom_command(OUTPUT ${python_build}/${name}
    COMMAND ${CMAKE_COMMAND} -E copy ${file} ${python_build}/${name} DEPENDS ${file} VERBATIM)
  list(APPEND package_copies ${python_build}/${name})
endforeach()
add_custom_target(saltus_python_package ALL DEPENDS ${package_copies} saltus_python)
