# SPDX-License-Identifier: MIT
#
# SuiteSparse's KLU, BTF, AMD and COLAMD as the target SuiteSparse::KLU. Point CMAKE_PREFIX_PATH at
# another build to use it instead of the system's.
find_path(SuiteSparse_INCLUDE_DIR klu.h PATH_SUFFIXES suitesparse)
set(SuiteSparse_LIBRARIES "")
set(suitesparse_wanted SuiteSparse_INCLUDE_DIR)
foreach(name klu btf amd colamd suitesparseconfig)
  find_library(SuiteSparse_${name}_LIBRARY ${name})
  list(APPEND suitesparse_wanted SuiteSparse_${name}_LIBRARY)
  list(APPEND SuiteSparse_LIBRARIES ${SuiteSparse_${name}_LIBRARY})
endforeach()
mark_as_advanced(${suitesparse_wanted})

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SuiteSparse REQUIRED_VARS ${suitesparse_wanted}
  REASON_FAILURE_MESSAGE "install the Debian package libsuitesparse-dev, or run scripts/setup.sh")

if(SuiteSparse_FOUND AND NOT TARGET SuiteSparse::KLU)
  add_library(SuiteSparse::KLU INTERFACE IMPORTED)
  target_include_directories(SuiteSparse::KLU SYSTEM INTERFACE ${SuiteSparse_INCLUDE_DIR})
  target_link_libraries(SuiteSparse::KLU INTERFACE ${SuiteSparse_LIBRARIES})
endif()
