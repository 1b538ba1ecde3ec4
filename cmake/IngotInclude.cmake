# Includes are spelled <ingot/LAYER/...>. The build tree gets include/ingot/ with one link per layer
# folder and ingot.h, so that the source tree stays flat and a new header needs no configure step.

set(INGOT_LAYERS kernels runtime compiler profiler)
set(INGOT_BUILD_INCLUDE "${PROJECT_BINARY_DIR}/include")

file(MAKE_DIRECTORY "${INGOT_BUILD_INCLUDE}/ingot")
foreach(entry IN LISTS INGOT_LAYERS ITEMS ingot.h)
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${entry}" "${INGOT_BUILD_INCLUDE}/ingot/${entry}" SYMBOLIC)
endforeach()
