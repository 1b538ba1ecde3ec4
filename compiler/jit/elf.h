// Reads what the run-time compiler must know of an ELF object file.
// Owns: nothing; parses bytes with every offset checked.
// Must not know: compilers, loading.
#pragma once

#include <string>
#include <vector>

#include <ingot/compiler/jit/bytes.h>

namespace ingot::jit {

// Names that a 64-bit little-endian relocatable object leaves to others. Empty for bytes that are
// not such an object.
std::vector<std::string> undefined_symbols(ByteView object);

// The first bytes of an ELF file.
bool is_elf(ByteView bytes);

}  // namespace ingot::jit
