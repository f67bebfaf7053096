# Compiler rules. clang 19 is the compiler of every preset and of the packages; g++ 12 miscompiles common coroutine code
# (crash, double destruction, endless loop), so it is refused rather than trusted with a power switch.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  message(FATAL_ERROR "g++ ${CMAKE_CXX_COMPILER_VERSION} miscompiles coroutines; use clang++-19 (cmake --preset release)")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime "${CCACHE_PROGRAM}")
endif()

find_program(LLD_PROGRAM NAMES ld.lld-19)
if(LLD_PROGRAM AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options("--ld-path=${LLD_PROGRAM}")
endif()

set(PVC_SANITIZE "" CACHE STRING "sanitizers, as -fsanitize= takes them")
option(PVC_COVERAGE "instrument for llvm-cov" OFF)
if(PVC_SANITIZE)
  # Two checks, of null references and of sizes, cost a quarter of the time to compile; the preset `watched` has them.
  add_compile_options(-fsanitize=${PVC_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -fno-sanitize=function)
  if(NOT PVC_WATCH_TESTS)
    add_compile_options(-fno-sanitize=null,object-size)
  endif()
  add_link_options(-fsanitize=${PVC_SANITIZE})
endif()
if(PVC_COVERAGE)
  add_compile_options(-fprofile-instr-generate -fcoverage-mapping)
  add_link_options(-fprofile-instr-generate)
endif()

# Never what is installed: a guard that is left out is a hole (pvcnoded/base/guard.hpp).
option(PVC_GUARDS "guards can be left out one at a time, for tests/long/guards" OFF)
if(PVC_GUARDS)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    message(FATAL_ERROR "PVC_GUARDS is for tests alone: cmake --preset guards")
  endif()
  add_compile_definitions(PVC_GUARDS)
endif()

add_library(pvc_warnings INTERFACE)
target_compile_options(pvc_warnings INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # A precompiled header that ccache restores has another time stamp than the one it was built from.
  target_compile_options(pvc_warnings INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()
# The presets compile eight files as one, asan twenty-four (it is built whole): most of a file's time is its headers. Such a file
# sees the names of its neighbours, so what stands at the level of a file has a name of its own in its folder;
# that one of its own hides one of theirs is no mistake. The preset `alone` has no such files and no precompiled header:
# tests/long/clang-tidy compiles by it each file that changed.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 8 CACHE STRING "files that are compiled as one")
target_compile_options(pvc_warnings INTERFACE $<$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>:-Wno-shadow>)
add_compile_definitions(_GNU_SOURCE)
option(PVC_LTO "optimise across files (the package, and what is measured); the link of every program takes a minute" OFF)
if(PVC_LTO AND LLD_PROGRAM)
  add_compile_options(-flto=thin)
  add_link_options(-flto=thin "-Wl,--thinlto-cache-dir=${CMAKE_BINARY_DIR}/lto-cache")
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_compile_options(-fstack-protector-strong -fstack-clash-protection -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
  add_compile_definitions(_FORTIFY_SOURCE=3)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    add_compile_options(-fcf-protection=full)
  endif()
  add_link_options(-Wl,-z,relro,-z,now -Wl,--as-needed)
endif()

# Asio: its own code, compiled once (cmake/asio.cpp). Layers that compute see its addresses and nothing else of it, so
# they link it without the precompiled header of the others (cmake/layers.cmake). Asio keeps the memory of ended coroutines
# and handlers for the next ones, two blocks of each kind by default; with so few a tick would go to the heap for most.
# What it does not keep comes from operator new, not from aligned_alloc: that one has no fast path in the C library, and
# the simulator has an operator new of its own. Nothing here is aligned to more than operator new gives.
add_library(asio STATIC "${CMAKE_SOURCE_DIR}/cmake/asio.cpp")
add_library(asio_addresses INTERFACE)
target_link_libraries(asio_addresses INTERFACE asio)
target_compile_definitions(asio PUBLIC BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED
  BOOST_ASIO_DISABLE_BOOST_COROUTINE BOOST_ALLOW_DEPRECATED_HEADERS
  BOOST_ASIO_DISABLE_STD_ALIGNED_ALLOC BOOST_ASIO_DISABLE_BOOST_ALIGN
  BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE=16)
