# SPDX-License-Identifier: MIT
#
# CVODE and IDA of SUNDIALS 6 as the target Sundials::Sundials, if they are there. Each of the two
# libraries holds all it needs (vectors, nonlinear solvers). Point CMAKE_PREFIX_PATH at another build to
# use it instead of the system's: Debian's is compiled without optimisation.
find_path(Sundials_INCLUDE_DIR cvode/cvode.h)
find_library(Sundials_cvode_LIBRARY sundials_cvode)
find_library(Sundials_ida_LIBRARY sundials_ida)
mark_as_advanced(Sundials_INCLUDE_DIR Sundials_cvode_LIBRARY Sundials_ida_LIBRARY)

set(Sundials_VERSION "")
if(Sundials_INCLUDE_DIR AND EXISTS "${Sundials_INCLUDE_DIR}/sundials/sundials_config.h")
  file(STRINGS "${Sundials_INCLUDE_DIR}/sundials/sundials_config.h" sundials_line
    REGEX "^#define SUNDIALS_VERSION \"")
  string(REGEX REPLACE ".*\"([0-9.]+).*" "\\1" Sundials_VERSION "${sundials_line}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Sundials
  REQUIRED_VARS Sundials_INCLUDE_DIR Sundials_cvode_LIBRARY Sundials_ida_LIBRARY
  VERSION_VAR Sundials_VERSION HANDLE_VERSION_RANGE)

if(Sundials_FOUND AND NOT TARGET Sundials::Sundials)
  add_library(Sundials::Sundials INTERFACE IMPORTED)
  target_include_directories(Sundials::Sundials SYSTEM INTERFACE ${Sundials_INCLUDE_DIR})
  target_link_libraries(Sundials::Sundials INTERFACE
    ${Sundials_cvode_LIBRARY} ${Sundials_ida_LIBRARY})
endif()
