# Run by ingot_embed_text at build time: cmake -DOUT= -DSYMBOL= -DROOT= -DHEADERS=a,b -P this.
# Text is cut with FIND, SUBSTRING and REPLACE only: list operations would eat semicolons and
# brackets.
cmake_minimum_required(VERSION 3.22)

# Run-time compiled code has the instruction set level of its own that this names.
set(text "#define INGOT_ISA isa_jit\n")
set(seen "")

# Appends `header` to `text`, its own includes first, each header once.
macro(append_header header)
  if(NOT "${header}" IN_LIST seen)
    list(APPEND seen "${header}")
    expand_header("${header}")
  endif()
endmacro()

function(expand_header header)
  file(READ "${ROOT}/${header}" rest)
  string(REPLACE "#pragma once\n" "" rest "${rest}")
  set(body "")
  while(TRUE)
    string(FIND "${rest}" "#include" at)
    if(at EQUAL -1)
      break()
    endif()
    string(SUBSTRING "${rest}" 0 ${at} before)
    string(SUBSTRING "${rest}" ${at} -1 rest)
    string(FIND "${rest}" "\n" end)
    string(SUBSTRING "${rest}" 0 ${end} line)
    math(EXPR end "${end} + 1")
    string(SUBSTRING "${rest}" ${end} -1 rest)
    if(NOT line MATCHES "^#include <ingot/([a-z0-9_/]+\\.(h|cuh))>")
      message(FATAL_ERROR "${header}: cannot embed '${line}': only <ingot/...> headers are freestanding")
    endif()
    string(APPEND body "${before}")
    append_header("${CMAKE_MATCH_1}")
  endwhile()
  string(APPEND text "${body}${rest}")
  set(text "${text}" PARENT_SCOPE)
  set(seen "${seen}" PARENT_SCOPE)
endfunction()

string(REPLACE "," ";" roots "${HEADERS}")
foreach(root IN LISTS roots)
  append_header("${root}")
endforeach()

# What rows say of themselves to the library and its tests is not for kernels: NVRTC would lay it
# all into each module, a quarter of its time and three quarters of the module. Comments only take
# time to read. So rule_of<>, dtypes_of<> and domain_of<> of a built-in row have their defaults there.
set(facts "const char\\* name|DTypeRule rule|DTypeSet dtypes|Domain domain[a-z_]*|int ulp|Golden golden\\[\\]")
string(REGEX REPLACE " *//[^\n]*" "" text "${text}")
string(REGEX REPLACE "  static constexpr (${facts}) ?[={][^;]*;\n" "" text "${text}")

string(FIND "${text}" ")ingot\"" clash)
if(NOT clash EQUAL -1)
  message(FATAL_ERROR "${SYMBOL}: the text holds the delimiter )ingot\"")
endif()

string(SHA256 sha256 "${text}")
file(WRITE "${OUT}"
"// Generated from the headers of the op rows; do not edit.
#ifdef __clang__
#pragma clang diagnostic ignored \"-Woverlength-strings\"
#endif
#include <ingot/compiler/jit/embedded_text.h>
namespace ingot::jit {
namespace {
constexpr char ${SYMBOL}Chars[] = R\"ingot(${text})ingot\";
}
const EmbeddedText ${SYMBOL}{${SYMBOL}Chars, sizeof(${SYMBOL}Chars) - 1, \"${sha256}\"};
}  // namespace ingot::jit
")

# What Ninja or Make must watch, in the form of a compiler's dependency file.
set(rule "${OUT}:")
foreach(header IN LISTS seen)
  string(APPEND rule " \\\n  ${ROOT}/${header}")
endforeach()
file(WRITE "${OUT}.d" "${rule}\n")
