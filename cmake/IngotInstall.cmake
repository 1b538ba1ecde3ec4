# Installation and the package that find_package(ingot CONFIG) reads.

include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/ingot")

install(TARGETS ingot ingot_kernels ingot_runtime ingot_compiler ingot_profiler EXPORT ingotTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT ingotTargets NAMESPACE ingot:: DESTINATION "${package_dir}")

foreach(layer IN LISTS INGOT_LAYERS)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${layer}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/ingot"
          FILES_MATCHING PATTERN "*.h")
endforeach()
install(FILES "${PROJECT_SOURCE_DIR}/ingot.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/ingot")

# What the libraries link, for consumers on machines that have it not: fmt, under the name that the
# linker writes into programs, and the CUDA runtime.
set(bundled "${package_dir}/bundled")
set(INGOT_FMT_FILE "")
set(INGOT_CUDART_FILE "")
function(ingot_location out target)
  foreach(property IN ITEMS IMPORTED_LOCATION IMPORTED_LOCATION_RELEASE IMPORTED_LOCATION_NONE)
    get_target_property(path ${target} ${property})
    if(path)
      file(REAL_PATH "${path}" path)
      set(${out} "${path}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${out} "" PARENT_SCOPE)
endfunction()
ingot_location(fmt_file fmt::fmt)
if(fmt_file)
  get_filename_component(INGOT_FMT_FILE "${fmt_file}" NAME)
  if(INGOT_FMT_FILE MATCHES "^(.*\\.so\\.[0-9]+)[.0-9]*$")
    set(INGOT_FMT_FILE "${CMAKE_MATCH_1}")
  endif()
  install(FILES "${fmt_file}" DESTINATION "${bundled}" RENAME "${INGOT_FMT_FILE}")
endif()
if(INGOT_HAVE_CUDA)
  ingot_location(cudart_file CUDA::cudart_static)
  get_filename_component(INGOT_CUDART_FILE "${cudart_file}" NAME)
  install(FILES "${cudart_file}" DESTINATION "${bundled}")
endif()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/ingotConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/ingotConfig.cmake"
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/ingotConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/ingotConfig.cmake" "${PROJECT_BINARY_DIR}/ingotConfigVersion.cmake"
        DESTINATION "${package_dir}")
