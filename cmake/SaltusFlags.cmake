# SPDX-License-Identifier: MIT
#
# Compiler flags. Three groups: for all of our code, for the modules whose results must be the same
# bits with every compiler and at every optimisation level, and for the kernels.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "Flags of release builds" FORCE)

# one set of objects serves the static and the shared libraries
if(NOT EMSCRIPTEN)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
endif()

add_library(saltus_flags INTERFACE)
target_compile_options(saltus_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wvla -Wundef
  -Wdouble-promotion -Wswitch-enum $<$<BOOL:${SALTUS_WERROR}>:-Werror>)
target_compile_definitions(saltus_flags INTERFACE
  $<$<BOOL:${SALTUS_CHECK_INVARIANTS}>:SLT_CHECK_INVARIANTS>)

# sanitizers reach everything, tests and examples included
if(SALTUS_SANITIZE)
  set(sanitize -fsanitize=${SALTUS_SANITIZE} -fno-omit-frame-pointer)
  if(SALTUS_SANITIZE MATCHES "undefined")
    list(APPEND sanitize -fno-sanitize-recover=undefined)
  endif()
  add_compile_options(${sanitize})
  add_link_options(${sanitize})
endif()
if(SALTUS_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "fuzzing needs clang: cmake --preset fuzz, or -DCMAKE_C_COMPILER=clang")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Same bits everywhere: no fused multiply-add, and no libm call replaced or folded by the compiler.
# errno of the mathematical functions is never read, so __builtin_sqrt may become one instruction.
set(SALTUS_EXACT_FLAGS -ffp-contract=off -fno-builtin -fno-math-errno)
set(SALTUS_EXACT_MODULES ir rules symbolic model numeric engine sensitivity blocks experiment)
set(SALTUS_KERNEL_FLAGS $<$<CONFIG:Release>:-O3>)
# An event passes through a hundred small functions once. Inlining them helps; -O3 would also turn
# short loops into vector code, which waits for the scalars that were just written.
set(SALTUS_EVENT_FLAGS
  $<$<AND:$<CONFIG:Release>,$<C_COMPILER_ID:GNU>>:-finline-limit=400;-fno-tree-vectorize;-fno-tree-slp-vectorize>)
set(SALTUS_KERNEL_MODULES rules model numeric blocks)
