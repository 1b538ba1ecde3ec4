#include <cmath>
#include <limits>
#include <stdexcept>

#include <gtest/gtest.h>

#include <ingot/kernels/core/text.h>
#include <ingot/profiler/json.h>

#include "support/strict_json.h"

namespace ingot::profiler {
namespace {

using ingot::testing::Json;

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string through(std::string_view text) { return Json::parse(quoted(text)).text; }

TEST(Json, StrictReaderRefuses) {
  for (const char* bad : {"",
                          "{",
                          "[1,]",
                          "{\"a\": 1,}",
                          "01",
                          "1.",
                          ".5",
                          "+1",
                          "1e",
                          "nul",
                          "\"\x01\"",
                          "\"a",
                          "\"\\x\"",
                          "\"\\ud800\"",
                          "\"\xFF\"",
                          "\"\xC0\x80\"",
                          "\"\xED\xA0\x80\"",
                          "[1 2]",
                          "{\"a\": 1, \"a\": 2}",
                          "1 2",
                          "{1: 2}",
                          "'a'",
                          "NaN",
                          "[1]]"}) {
    EXPECT_THROW(Json::parse(bad), std::runtime_error) << bad;
  }
  EXPECT_EQ(Json::parse(" [1, -2.5e3, {\"a\": [true, null]}] ")[1].value, -2500);
  EXPECT_EQ(Json::parse("\"\\ud83d\\ude00\"").text, "\xF0\x9F\x98\x80");
}

TEST(Json, EveryValidTextComesBackEqual) {
  std::string nul("a\0b", 3);
  std::string all;
  for (int c = 0; c < 0x80; ++c) all += static_cast<char>(c);
  for (const std::string& text :
       {std::string(), std::string("say \"hi\""), std::string("{\"device\": \"cpu\"}"),
        std::string("\""), std::string("C:\\path\\"), std::string("line\nbreak\ttab\r"), nul, all,
        std::string("\x7F\x01\x08\x1F"),
        std::string("gr\xC3\xB6\xC3\x9F"
                    "e \xE2\x82\xAC \xF0\x9F\x98\x80"),
        std::string(100'000, 'x')}) {
    EXPECT_EQ(through(text), text);
  }
}

TEST(Json, BytesThatAreNoTextAreReplaced) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(through("a\xFFz"), "a" + mark + "z");
  EXPECT_EQ(through("\xC3"), mark);
  EXPECT_EQ(through("\xC3("), mark + "(");
  EXPECT_EQ(through("\xC0\x80"), mark + mark);
  EXPECT_EQ(through("\xED\xA0\x80"), mark + mark + mark);
  EXPECT_EQ(through("\xF4\x90\x80\x80"), mark + mark + mark + mark);
  EXPECT_EQ(through("\xE2\x82"), mark + mark);
}

TEST(Json, RandomBytesStayStrict) {
  std::uint32_t state = 12345;
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 24; ++i) {
      state = state * 1664525u + 1013904223u;
      text += static_cast<char>(state >> 24);
    }
    EXPECT_NO_THROW(through(text)) << round;
  }
}

TEST(Json, MicrosecondsAreExact) {
  auto us = [](std::int64_t ns) {
    std::string out;
    append_us(out, ns);
    return out;
  };
  EXPECT_EQ(us(0), "0.000");
  EXPECT_EQ(us(1), "0.001");
  EXPECT_EQ(us(1234567), "1234.567");
  EXPECT_EQ(us(-1), "-0.001");
  EXPECT_EQ(us(std::numeric_limits<std::int64_t>::max()), "9223372036854775.807");
  EXPECT_EQ(us(std::numeric_limits<std::int64_t>::min()), "-9223372036854775.808");
}

TEST(Json, WriterSeparatesAndNests) {
  std::string out;
  JsonWriter w(out);
  w.open_object().member("rank", 0).key("list").open_array();
  w.value(1.5)
      .value(std::nan(""))
      .value(true ? "x" : "")
      .open_object()
      .close_object()
      .close_array();
  w.member("end", std::uint64_t{18446744073709551615u}).close_object();
  EXPECT_EQ(out, R"({"rank": 0, "list": [1.5, null, "x", {}], "end": 18446744073709551615})");
  Json parsed = Json::parse(out);
  EXPECT_EQ(parsed["list"].size(), 4u);
}

}  // namespace
}  // namespace ingot::profiler
