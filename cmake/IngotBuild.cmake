# How Ingot's own sources are compiled. Nothing here reaches a consumer: every flag is private.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  else()
    set(CMAKE_BUILD_TYPE Release)  # of this folder's targets; a cache entry would be the consumer's
  endif()
endif()

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(INGOT_CCACHE ccache)
  mark_as_advanced(INGOT_CCACHE)
  if(INGOT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # With a base folder ccache sees relative paths, so two clones share its entries.
    cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${PROJECT_BINARY_DIR}" inside)
    if(inside)
      set(base "${PROJECT_SOURCE_DIR}")
    else()
      set(base "${PROJECT_BINARY_DIR}")
    endif()
    set(CMAKE_CXX_COMPILER_LAUNCHER
        "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${base}" "${INGOT_CCACHE}")
  endif()
endif()

if(INGOT_SANITIZE)
  add_compile_options("-fsanitize=${INGOT_SANITIZE}" -fno-omit-frame-pointer)
  add_link_options("-fsanitize=${INGOT_SANITIZE}")
  # Instrumented code hides from g++ what is initialised.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  if(INGOT_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()

# Language level, warnings, and the floating-point rule that every unit of Ingot shares.
function(ingot_compile_options target)
  set_target_properties(${target} PROPERTIES
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON)
  set(warnings -Wall -Wextra -Wpedantic $<$<BOOL:${INGOT_WERROR}>:-Werror>
    # g++ 12 sees overlapping copies inside "text" + std::string.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
    # g++ also counts a scoped enumerator (DType::i64) as shadowing; clang does not.
    $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local,-Wshadow>)
  # The compilers' default fuses a*b+c where the CPU can (aarch64), which changes bits.
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:${warnings};-ffp-contract=off>")
endfunction()

# The units of a target in batches: most of a unit's time goes into headers that all units share.
# The rest compile by themselves: their file-local names are those of another unit.
function(ingot_batch target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${INGOT_UNITY} UNITY_BUILD_BATCH_SIZE 10)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# ingot_add_layer(<name> SOURCES <file>... [ALONE <file>...] [LINK <lower layer>...]
#   [PRIVATE <library>...])
# Library ingot_<name>; static unless BUILD_SHARED_LIBS says otherwise. ALONE: see ingot_batch.
function(ingot_add_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;ALONE;LINK;PRIVATE")
  set(target ingot_${name})
  add_library(${target} ${arg_SOURCES})
  add_library(ingot::${name} ALIAS ${target})
  ingot_compile_options(${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} INSTALL_RPATH "$ORIGIN")
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC
    "$<BUILD_INTERFACE:${INGOT_BUILD_INCLUDE}>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_link_libraries(${target} PUBLIC ${arg_LINK} PRIVATE fmt::fmt ${arg_PRIVATE})
  ingot_batch(${target} ${arg_ALONE})
endfunction()
