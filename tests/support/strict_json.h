// A strict reader of JSON (RFC 8259): what it accepts, every reader accepts.
// Owns: Json. Refuses trailing commas, raw control characters, bytes that are no UTF-8, numbers
// like 01, names that occur twice and anything after the value. Errors say where.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::testing {

struct Json {
  enum Type { null, boolean, number, string, array, object };
  Type type = null;
  bool truth = false;
  double value = 0;
  std::string text;  // of a string decoded, of a number as written
  std::vector<Json> items;
  struct Member;
  std::vector<Member> members;

  // Throws std::runtime_error.
  static Json parse(std::string_view text);

  bool has(std::string_view key) const;
  const Json& operator[](std::string_view key) const;  // throws std::out_of_range with the key
  const Json& operator[](std::size_t i) const { return items.at(i); }
  std::size_t size() const;  // items or members
};

struct Json::Member {
  std::string name;
  Json value;
};

}  // namespace ingot::testing
