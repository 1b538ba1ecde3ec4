// Runs one program to its end: no shell, no named temporary file, bounded in time, and the program
// sees only the descriptors it is given. Safe in processes with threads, with large memory, and
// with SIGCHLD ignored or another thread that reaps children.
// Must not know: compilers.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace ingot::jit {

struct Command {
  std::string program;                   // a path
  std::vector<std::string> arguments;    // without the program itself
  std::vector<std::string> environment;  // "NAME=value", all of it
  // Descriptors of this process that the program gets as 0, 1, 2, 3, ...; -1 means /dev/null.
  std::vector<int> descriptors;
  std::chrono::milliseconds timeout{60000};
};

struct Ending {
  enum Kind {
    kExited,      // value: exit status
    kSignalled,   // value: signal number
    kTimedOut,    // killed, with the programs it had started
    kNotStarted,  // value: errno
    kUnknown,     // it has ended, and somebody else took its status
  };
  Kind kind = kNotStarted;
  int value = 0;

  bool ok() const { return kind == kExited && value == 0; }
  // The end of a sentence: "was killed by signal 9 (Killed)".
  std::string text() const;
};

Ending run_command(const Command& command);

}  // namespace ingot::jit
