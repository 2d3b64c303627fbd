# SPDX-License-Identifier: MIT
#
# The two libraries, each static and shared, from one object library per module. Sources are found
# by their place in the tree; a module without sources is left out.
#
#   saltus_rt  runs compiled models: base, model without the builder, numeric, engine, record,
#              and the part of the API that is in files api/rt_*.c
#   saltus     everything
set(SALTUS_ONLY_MODULES "" CACHE STRING
  "Modules to build; a list helps while working on one of them, empty means all")
mark_as_advanced(SALTUS_ONLY_MODULES)
unset(SALTUS_MODULES CACHE)
set(SALTUS_MODULES base ir lisma rules symbolic model native numeric engine sensitivity record blocks api cdcsis
  experiment)
if(SALTUS_ONLY_MODULES)
  set(SALTUS_MODULES ${SALTUS_ONLY_MODULES})
endif()
set(SALTUS_RT_MODULES base model numeric engine record)

function(saltus_objects target module)
  if(NOT ARGN)
    return()
  endif()
  add_library(${target} OBJECT ${ARGN})
  target_include_directories(${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE saltus_flags SuiteSparse::KLU Threads::Threads)
  if(module STREQUAL "record")
    saltus_use_optional(${target} ZLIB HDF5 CAIRO)
  elseif(module STREQUAL "experiment")
    saltus_use_optional(${target} NLOPT)
  endif()
  if(module STREQUAL "numeric" AND Sundials_FOUND)
    target_link_libraries(${target} PRIVATE Sundials::Sundials)
    target_compile_definitions(${target} PRIVATE SALTUS_HAVE_SUNDIALS=1)
  endif()
  if(module STREQUAL "base")
    target_compile_options(${target} PRIVATE -ffp-contract=off -fno-math-errno)  # for elementary.c
  endif()
  if(module IN_LIST SALTUS_EXACT_MODULES)
    target_compile_options(${target} PRIVATE ${SALTUS_EXACT_FLAGS})
  endif()
  if(module IN_LIST SALTUS_KERNEL_MODULES)
    target_compile_options(${target} PRIVATE ${SALTUS_KERNEL_FLAGS})
  endif()
  if(module STREQUAL "engine")
    target_compile_options(${target} PRIVATE ${SALTUS_EVENT_FLAGS})
  endif()
endfunction()

set(all_objects "")
set(rt_objects "")
foreach(module IN LISTS SALTUS_MODULES)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${module}/*.c
       ${PROJECT_SOURCE_DIR}/src/${module}/*/*.c)

  # the builder of models stays out of the runtime; of the API only rt_*.c belongs to it
  set(rt_sources "")
  if(module IN_LIST SALTUS_RT_MODULES)
    set(rt_sources ${sources})
    list(FILTER rt_sources EXCLUDE REGEX "/model/build_[^/]*\\.c$")
  elseif(module STREQUAL "api")
    set(rt_sources ${sources})
    list(FILTER rt_sources INCLUDE REGEX "/api/rt_[^/]*\\.c$")
  endif()
  set(other_sources ${sources})
  if(rt_sources)
    list(REMOVE_ITEM other_sources ${rt_sources})
  endif()

  saltus_objects(saltus_objects_${module} ${module} ${rt_sources})
  saltus_objects(saltus_objects_${module}_more ${module} ${other_sources})
  if(rt_sources)
    list(APPEND rt_objects $<TARGET_OBJECTS:saltus_objects_${module}>)
    list(APPEND all_objects $<TARGET_OBJECTS:saltus_objects_${module}>)
  endif()
  if(other_sources)
    list(APPEND all_objects $<TARGET_OBJECTS:saltus_objects_${module}_more>)
  endif()
endforeach()

# library <name> as targets <name>_static and <name>_shared
set(SALTUS_LIBRARY_KINDS static shared)
if(EMSCRIPTEN)
  set(SALTUS_LIBRARY_KINDS static)
endif()
function(saltus_library name)
  foreach(kind IN LISTS SALTUS_LIBRARY_KINDS)
    string(TOUPPER ${kind} type)
    set(target ${name}_${kind})
    add_library(${target} ${type} ${ARGN})
    add_library(saltus::${target} ALIAS ${target})
    set_target_properties(${target} PROPERTIES
      OUTPUT_NAME ${name}
      LINKER_LANGUAGE C
      VERSION ${PROJECT_VERSION}
      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
      ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    target_include_directories(${target} INTERFACE
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    # a static library hands its dependencies on; headers of others never show in ours
    target_link_libraries(${target} PRIVATE SuiteSparse::KLU Threads::Threads m ${CMAKE_DL_LIBS})
    if(Sundials_FOUND)
      target_link_libraries(${target} PRIVATE Sundials::Sundials)
    endif()
  endforeach()
endfunction()

saltus_library(saltus_rt ${rt_objects})
saltus_library(saltus ${all_objects})
