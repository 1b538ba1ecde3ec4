# Kernel units are compiled once per instruction set level. Each level has its own inline namespace
# (INGOT_ISA) and its own name for Eigen, so that the linker cannot merge code of two levels.

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(possible base v3 v4)
else()
  set(possible base)
endif()

foreach(level IN LISTS INGOT_ISA_LEVELS)
  if(NOT level MATCHES "^(base|v3|v4)$")
    message(FATAL_ERROR "INGOT_ISA_LEVELS: \"${level}\" is none of base, v3, v4 "
                        "(a list: separated by semicolons)")
  endif()
endforeach()

set(INGOT_BUILT_ISA_LEVELS "")
foreach(level IN LISTS possible)
  if(NOT INGOT_ISA_LEVELS OR level IN_LIST INGOT_ISA_LEVELS)
    list(APPEND INGOT_BUILT_ISA_LEVELS ${level})
  endif()
endforeach()
if(NOT INGOT_BUILT_ISA_LEVELS)
  set(INGOT_BUILT_ISA_LEVELS base)
endif()
message(STATUS "ingot: instruction set levels: ${INGOT_BUILT_ISA_LEVELS}")

set(INGOT_ISA_FLAGS_base "")
set(INGOT_ISA_FLAGS_v3 -march=x86-64-v3)
set(INGOT_ISA_FLAGS_v4 -march=x86-64-v4 -mprefer-vector-width=512)

# Required in every build type: at -O2 the compilers leave the row loops scalar, and integers wrap.
set(INGOT_KERNEL_FLAGS -O3 -ffp-contract=off -fno-trapping-math -fno-math-errno -fwrapv)

# g++ 12 warns inside its own AVX intrinsics and Eigen's loops, after inlining, where the system
# headers' exemption is lost.
set(INGOT_KERNEL_WARNINGS
    $<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-aggressive-loop-optimizations>)

# ingot_isa_sources(<file>...): object libraries ingot_kernels_<level>; their objects join
# ingot_kernels, whose own units see INGOT_HAVE_ISA_BASE, _V3, _V4 for the levels that exist.
function(ingot_isa_sources)
  foreach(level IN LISTS INGOT_BUILT_ISA_LEVELS)
    set(target ingot_kernels_${level})
    add_library(${target} OBJECT ${ARGN})
    ingot_compile_options(${target})
    target_include_directories(${target} PRIVATE "${INGOT_BUILD_INCLUDE}")
    target_include_directories(${target} SYSTEM PRIVATE
      $<TARGET_PROPERTY:Eigen3::Eigen,INTERFACE_INCLUDE_DIRECTORIES>)
    target_compile_options(${target} PRIVATE
      ${INGOT_KERNEL_FLAGS} ${INGOT_ISA_FLAGS_${level}} ${INGOT_KERNEL_WARNINGS})
    target_compile_definitions(${target} PRIVATE INGOT_ISA=isa_${level} Eigen=Eigen_isa_${level})
    target_sources(ingot_kernels PRIVATE $<TARGET_OBJECTS:${target}>)
    string(TOUPPER ${level} upper)
    target_compile_definitions(ingot_kernels PRIVATE INGOT_HAVE_ISA_${upper}=1)
  endforeach()
endfunction()
