// Text that others read: UTF-8, and JSON's strings (RFC 8259), whatever bytes a name holds.
// Owns: what is a character, how bytes that are none are shown (as U+FFFD). Must not know: what the
// text says.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ingot {

// The length of the well-formed UTF-8 character at the start of a text that is not empty; 0: none.
std::size_t utf8_character(std::string_view text);

// The text with U+FFFD for each byte that belongs to no character.
std::string valid_utf8(std::string_view text);

// "text" in quotes, as JSON writes it.
void append_json_string(std::string& out, std::string_view text);

}  // namespace ingot
