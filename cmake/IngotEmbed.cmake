# ingot_embed_text(<out.cpp> <symbol> <header>...)
# Writes a unit that defines ingot::jit::<symbol> (compiler/jit/embedded_text.h): the headers' text,
# each header once, in include order.
# The headers are given relative to the root of the project and may include only other <ingot/...>
# headers: the text has no #include left, so that a compiler at run time needs no files.
function(ingot_embed_text out symbol)
  list(JOIN ARGN "," roots)
  set(script "${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake")
  add_custom_command(
    OUTPUT "${out}"
    COMMAND "${CMAKE_COMMAND}" "-DOUT=${out}" "-DSYMBOL=${symbol}" "-DROOT=${PROJECT_SOURCE_DIR}"
            "-DHEADERS=${roots}" -P "${script}"
    DEPENDS "${script}"
    DEPFILE "${out}.d"
    COMMENT "Embedding the text of ${symbol}"
    VERBATIM)
endfunction()
