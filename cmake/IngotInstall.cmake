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

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/ingotConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/ingotConfig.cmake"
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/ingotConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/ingotConfig.cmake" "${PROJECT_BINARY_DIR}/ingotConfigVersion.cmake"
        DESTINATION "${package_dir}")
