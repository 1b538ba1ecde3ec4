# Builds the consumer in a folder of its own, as a user would; with the installed package it also
# runs, with Ingot as a subdirectory it is compiled: all of Ingot once more would take minutes.
# cmake -DMODE=package|subdirectory -DSOURCE= -DBINARY= -DWORK= -DCXX= -DGENERATOR= -DBUILD_TYPE=
#       -P this
cmake_minimum_required(VERSION 3.22)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${result}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(build "${WORK}/build")
set(options -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${CXX}")

if(MODE STREQUAL "package")
  file(REMOVE_RECURSE "${WORK}")
  set(prefix "${WORK}/prefix")
  run("${CMAKE_COMMAND}" --install "${BINARY}" --prefix "${prefix}" --config "${BUILD_TYPE}")

  file(GLOB_RECURSE installed RELATIVE "${prefix}" "${prefix}/*")
  foreach(file IN LISTS installed)
    if(IS_SYMLINK "${prefix}/${file}" AND NOT file MATCHES "\\.so")
      message(FATAL_ERROR "installed as a link into the source tree: ${file}")
    elseif(file MATCHES "^include/" AND NOT file MATCHES "^include/ingot/.*\\.h$")
      message(FATAL_ERROR "installed among the headers: ${file}")
    endif()
  endforeach()

  list(APPEND options "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}")
else()
  set(BUILD_TYPE Debug)
  file(REMOVE "${build}/CMakeCache.txt")
  list(APPEND options "-DINGOT_SOURCE=${SOURCE}" -DCMAKE_BUILD_TYPE=Debug)
endif()

run("${CMAKE_COMMAND}" -S "${SOURCE}/tests/packaging/consumer" -B "${build}" ${options})
if(MODE STREQUAL "package")
  run("${CMAKE_COMMAND}" --build "${build}" --config "${BUILD_TYPE}")
endif()

# Reads the consumer's compile command in a build folder.
function(read_command folder)
  file(READ "${folder}/compile_commands.json" commands)
  string(JSON count LENGTH "${commands}")
  math(EXPR last "${count} - 1")
  foreach(i RANGE ${last})
    string(JSON file GET "${commands}" ${i} file)
    if(file MATCHES "consumer/main\\.cpp$")
      string(JSON command GET "${commands}" ${i} command)
      set(command "${command}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "the consumer is not in ${folder}/compile_commands.json")
endfunction()

# A consumer's compile command has the include folder and the language level, nothing else of ours.
read_command("${build}")
if(NOT command MATCHES "c\\+\\+|g\\+\\+|clang")
  message(FATAL_ERROR "no compiler in: ${command}")
endif()
if(command MATCHES "FMT_|[Ee]igen|-march|-ffp-contract|-Werror|-Wall|-DINGOT")
  message(FATAL_ERROR "a flag of Ingot's own reached its consumer: ${command}")
endif()
string(REGEX MATCHALL "(-I|-isystem )[^ ]+" includes "${command}")
list(LENGTH includes n)
if(NOT n EQUAL 1)
  message(FATAL_ERROR "expected one include folder in: ${command}")
endif()

if(MODE STREQUAL "subdirectory")
  run("${CMAKE_COMMAND}" -E chdir "${build}"
      sh -c "mkdir -p CMakeFiles/consumer.dir && ${command}")

  # Ingot is optimised without a build type; the project around it is not.
  unset(ENV{CMAKE_BUILD_TYPE})
  set(build "${WORK}/no-build-type")
  file(REMOVE "${build}/CMakeCache.txt")
  run("${CMAKE_COMMAND}" -S "${SOURCE}/tests/packaging/consumer" -B "${build}" -G "${GENERATOR}"
      "-DCMAKE_CXX_COMPILER=${CXX}" "-DINGOT_SOURCE=${SOURCE}")
  read_command("${build}")
  if(command MATCHES "-O[1-3]|-DNDEBUG")
    message(FATAL_ERROR "Ingot's build type reached its consumer: ${command}")
  endif()
  return()
endif()

run("${build}/consumer")
message("${output}")

# A machine that has neither fmt's package nor a CUDA toolkit.
set(bare "${WORK}/bare")
run("${CMAKE_COMMAND}" -S "${SOURCE}/tests/packaging/consumer" -B "${bare}" ${options}
    -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON)
run("${CMAKE_COMMAND}" --build "${bare}" --config "${BUILD_TYPE}" --target consumer)
run("${bare}/consumer")
run("${build}/add_a_row")
