# CUDA: whether this build has it, and for which GPUs. INGOT_CUDA=AUTO takes it where a toolkit is,
# ON insists, OFF leaves it out. Sets INGOT_HAVE_CUDA. Only cudart is linked, and statically: the
# driver, cublasLt, NVRTC and CUPTI are opened at run time, so that one binary starts everywhere.

set(INGOT_CUDA AUTO CACHE STRING "Build for CUDA: AUTO, ON or OFF")
set_property(CACHE INGOT_CUDA PROPERTY STRINGS AUTO ON OFF)
set(INGOT_HAVE_CUDA FALSE)

# As asked, else the GPUs that are visible here, else the oldest with PTX for all newer ones.
function(ingot_cuda_architectures out)
  if(CMAKE_CUDA_ARCHITECTURES)
    set(${out} "${CMAKE_CUDA_ARCHITECTURES}" PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE found ERROR_QUIET RESULT_VARIABLE status)
  set(list "")
  if(status EQUAL 0)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]+" found "${found}")
    foreach(capability IN LISTS found)
      string(REPLACE "." "" capability "${capability}")
      list(APPEND list ${capability})
    endforeach()
    list(REMOVE_DUPLICATES list)
  endif()
  if(NOT list)
    set(list 75)
  endif()
  set(${out} "${list}" PARENT_SCOPE)
endfunction()

if(INGOT_CUDA)
  find_package(CUDAToolkit 12.4 QUIET)
  if(CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE)
    ingot_cuda_architectures(CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_COMPILER "${CUDAToolkit_NVCC_EXECUTABLE}" CACHE FILEPATH "nvcc")
    if(INGOT_CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
      set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
    endif()
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.22 to 3.25 do not know it
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    endif()
    # A project that adds this one links the library, and with it these.
    foreach(target IN ITEMS CUDA::cudart_static CUDA::cudart_static_deps)
      if(TARGET ${target})
        set_target_properties(${target} PROPERTIES IMPORTED_GLOBAL TRUE)
      endif()
    endforeach()
    set(INGOT_HAVE_CUDA TRUE)
    message(STATUS "ingot: CUDA ${CUDAToolkit_VERSION} for architectures "
                   "${CMAKE_CUDA_ARCHITECTURES} (newer GPUs by PTX)")
  elseif(INGOT_CUDA STREQUAL "ON")
    message(FATAL_ERROR "INGOT_CUDA=ON needs a CUDA toolkit 12.4 or newer with nvcc; put nvcc on "
                        "PATH or set CUDAToolkit_ROOT")
  else()
    message(STATUS "ingot: no CUDA toolkit 12.4 or newer found; built for the CPU only")
  endif()
endif()

# ingot_cuda_sources(<file>... SMALL <file>...): units of ingot_kernels under kernels/cuda, in the
# namespace isa_cuda. The small ones are one unit where INGOT_UNITY is on: nvcc's own headers, which
# it reads three times, cost more than each of them.
function(ingot_cuda_sources)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "SMALL")
  set(sources ${arg_UNPARSED_ARGUMENTS} ${arg_SMALL})
  if(INGOT_UNITY)
    list(TRANSFORM arg_SMALL REPLACE "(.+)" "#include <ingot/kernels/\\1>\n" OUTPUT_VARIABLE lines)
    list(JOIN lines "" text)
    set(together "${CMAKE_CURRENT_BINARY_DIR}/small_units.cu")
    file(CONFIGURE OUTPUT "${together}" CONTENT "${text}" @ONLY)
    set(sources ${arg_UNPARSED_ARGUMENTS} "${together}")
  endif()
  add_library(ingot_kernels_cuda OBJECT ${sources})
  ingot_compile_options(ingot_kernels_cuda)
  target_include_directories(ingot_kernels_cuda PRIVATE "${INGOT_BUILD_INCLUDE}")
  target_compile_definitions(ingot_kernels_cuda PRIVATE INGOT_ISA=isa_cuda)
  target_include_directories(ingot_kernels_cuda SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(ingot_kernels_cuda PRIVATE fmt::fmt)
  set(device_units ${sources})
  list(FILTER device_units INCLUDE REGEX "\\.cu$")  # CMake 3.31 would batch them, too
  ingot_batch(ingot_kernels_cuda ${device_units})
  set_target_properties(ingot_kernels_cuda PROPERTIES
    CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF)
  # No contraction: the bits of an op must not depend on what it is compiled with. 186: rows compare
  # unsigned values with zero where they are instantiated for u8.
  target_compile_options(ingot_kernels_cuda PRIVATE
    "$<$<COMPILE_LANGUAGE:CUDA>:-O3;--fmad=false;--diag-suppress=186>")
  target_sources(ingot_kernels PRIVATE $<TARGET_OBJECTS:ingot_kernels_cuda>)
  target_link_libraries(ingot_kernels PRIVATE CUDA::cudart_static)
endfunction()
