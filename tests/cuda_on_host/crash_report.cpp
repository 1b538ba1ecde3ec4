// A kernel that crashes the program (an address that is not there, a vector load off its alignment:
// its units trap on these) is named before the program ends.
#include <csignal>
#include <cstdio>
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <unistd.h>

#include "cuda_on_host/grid.h"

namespace ingot::emulation {
namespace {

alignas(16) char g_stack[64 << 10];  // a fibre may have run out of its own

void report(int signal) {
  const Launch& launch = last_launch();
  if (launch.function != nullptr) {
    char text[512];
    const int n =
        std::snprintf(text, sizeof(text),
                      "%s in or after the kernel that %s launches at %s:%d, block %u, thread %u\n",
                      signal == SIGILL ? "misaligned access" : "bad address", launch.function,
                      launch.place.file, launch.place.line, t_block.x, t_thread.x);
    if (n > 0 && write(STDERR_FILENO, text, static_cast<std::size_t>(n)) < 0) return;
  }
  // With the default action back in place, the instruction crashes again.
  std::signal(signal, SIG_DFL);
}

[[maybe_unused]] const bool kInstalled = [] {
  stack_t stack{};
  stack.ss_sp = g_stack;
  stack.ss_size = sizeof(g_stack);
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = report;
  action.sa_flags = SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGBUS, SIGILL}) sigaction(signal, &action, nullptr);
  return true;
}();

}  // namespace
}  // namespace ingot::emulation

#endif
