// The command line of an example: --name VALUE, --name=VALUE, --switch, --help.
// Owns: the table of flags, its parsing into the caller's variables, the help text.
// Must not know: what the flags mean.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iostream>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace examples {

class Flags {
 public:
  Flags(std::string program, std::string purpose)
      : program_(std::move(program)), purpose_(std::move(purpose)) {}

  // The variable's value at this moment is the default that --help shows.
  void add(const std::string& name, const std::string& value, const std::string& help,
           std::string* to) {
    push(name, value, help + (to->empty() ? "" : " (" + *to + ")"),
         [to](const std::string& text) { *to = text; });
  }
  template <std::integral T>
  void add(const std::string& name, const std::string& value, const std::string& help, T* to,
           T least = std::numeric_limits<T>::min()) {
    push(name, value, help + " (" + std::to_string(*to) + ")",
         [name, to, least](const std::string& text) { *to = number<T>(name, text, least); });
  }
  // A comma-separated list.
  void add(const std::string& name, const std::string& value, const std::string& help,
           std::vector<std::int64_t>* to, std::int64_t least) {
    push(name, value, help, [name, to, least](const std::string& text) {
      to->clear();
      for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const std::string_view item = std::string_view(text).substr(begin, end - begin);
        to->push_back(number<std::int64_t>(name, item, least));
        begin = end + 1;
      }
    });
  }
  void add_switch(const std::string& name, const std::string& help, bool* to) {
    push(name, "", help, [to](const std::string&) { *to = true; });
  }

  // The exit code when the program should end now: 0 after --help, 2 after a mistake, which is
  // named on stderr.
  std::optional<int> parse(int argc, char** argv) const {
    try {
      for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--help" || word == "-h") {
          std::cout << help();
          return 0;
        }
        const std::size_t equals = word.find('=');
        const Flag& flag = find(word.substr(0, equals));
        if (flag.value.empty()) {
          if (equals != std::string::npos) throw std::invalid_argument(flag.name + " has no value");
          flag.set("");
        } else if (equals != std::string::npos) {
          flag.set(word.substr(equals + 1));
        } else if (i + 1 < argc) {
          flag.set(argv[++i]);
        } else {
          throw std::invalid_argument(flag.name + " needs a value, " + flag.value);
        }
      }
    } catch (const std::invalid_argument& mistake) {
      std::cerr << program_ << ": " << mistake.what() << "; --help lists the flags\n";
      return 2;
    }
    return {};
  }

  std::string help() const {
    std::size_t width = 0;
    for (const Flag& f : flags_) width = std::max(width, f.name.size() + f.value.size() + 1);
    std::string text = purpose_ + "\n\nusage: " + program_ + (flags_.empty() ? "\n" : " [flags]\n");
    for (const Flag& f : flags_) {
      std::string left = f.name + (f.value.empty() ? "" : " " + f.value);
      left.resize(width, ' ');
      text += "  " + left + "  " + f.help + "\n";
    }
    return text;
  }

 private:
  struct Flag {
    std::string name, value, help;
    std::function<void(const std::string&)> set;
  };

  void push(std::string name, std::string value, std::string help,
            std::function<void(const std::string&)> set) {
    flags_.push_back({std::move(name), std::move(value), std::move(help), std::move(set)});
  }
  const Flag& find(const std::string& name) const {
    for (const Flag& flag : flags_) {
      if (flag.name == name) return flag;
    }
    throw std::invalid_argument("unknown flag " + name);
  }
  template <class T>
  static T number(const std::string& name, std::string_view text, T least) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least) {
      const bool any = least == std::numeric_limits<T>::min();
      throw std::invalid_argument(name + " needs a whole number " +
                                  (any ? "in range" : "from " + std::to_string(least) + " on") +
                                  ", got \"" + std::string(text) + "\"");
    }
    return value;
  }

  std::string program_, purpose_;
  std::vector<Flag> flags_;
};

}  // namespace examples
