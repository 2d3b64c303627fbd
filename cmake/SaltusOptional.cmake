# SPDX-License-Identifier: MIT
#
# Libraries that few runs need. They are not linked: code is compiled against their headers and loads
# them when they are first used (src/base/library.h), by the name a linked program would have in it.
#
#   saltus_optional(NAME MODULES FILE PACKAGE USE)
#
# looks for one of the pkg-config MODULES. If the library FILE is there, NAME_FOUND is true, and the
# target saltus_optional_NAME brings the headers and the definition SALTUS_LIBRARY_NAME, the file to load.
find_package(PkgConfig QUIET)

set(SALTUS_OPTIONAL_FILES "")
function(saltus_optional name modules file package use)
  set(soname "")
  if(PKG_CONFIG_FOUND AND NOT EMSCRIPTEN)
    pkg_search_module(${name} QUIET IMPORTED_TARGET ${modules})
    set(library ${${name}_LINK_LIBRARIES})
    list(FILTER library INCLUDE REGEX "/${file}\\.so$")
    if(library)
      list(GET library 0 library)
      execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${library} OUTPUT_VARIABLE headers ERROR_QUIET)
      if(headers MATCHES "SONAME +([^ \n]+)")
        set(soname ${CMAKE_MATCH_1})
      endif()
    endif()
  endif()
  if(soname)
    add_library(saltus_optional_${name} INTERFACE)
    target_include_directories(saltus_optional_${name} SYSTEM INTERFACE ${${name}_INCLUDE_DIRS})
    target_compile_definitions(saltus_optional_${name} INTERFACE
      SALTUS_LIBRARY_${name}="${soname}")
    set(${name}_FOUND TRUE PARENT_SCOPE)
    get_filename_component(library ${library} REALPATH)
    get_filename_component(folder ${library} DIRECTORY)
    set(SALTUS_OPTIONAL_FILES ${SALTUS_OPTIONAL_FILES} ${folder}/${soname} PARENT_SCOPE)
  else()
    message(STATUS "no ${use}: ${file} not found (Debian: ${package})")
    set(${name}_FOUND FALSE PARENT_SCOPE)
  endif()
endfunction()

saltus_optional(CAIRO cairo libcairo libcairo2-dev "PNG pictures")
saltus_optional(ZLIB zlib libz zlib1g-dev ".csv.gz results")
saltus_optional(HDF5 "hdf5-serial;hdf5" "libhdf5[a-z_]*" libhdf5-dev ".h5 results")
saltus_optional(NLOPT nlopt libnlopt libnlopt-dev "`saltus optimize`")
saltus_optional(MPI ompi-c libmpi libopenmpi-dev "sweeps under mpirun")
saltus_optional(MICROHTTPD libmicrohttpd libmicrohttpd libmicrohttpd-dev "`saltus serve`")
saltus_optional(LIBZIP libzip libzip libzip-dev "`saltus export` and runs of FMUs")
saltus_optional(EXPAT expat libexpat libexpat1-dev "runs of FMUs")

# what the target needs of them, where they are there
function(saltus_use_optional target)
  foreach(name IN LISTS ARGN)
    if(TARGET saltus_optional_${name})
      target_link_libraries(${target} PRIVATE saltus_optional_${name})
    endif()
  endforeach()
endfunction()
