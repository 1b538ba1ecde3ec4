// Running programs: endings, time limits, descriptors, and hosts that handle signals in their way.
#include <chrono>
#include <signal.h>
#include <sstream>
#include <thread>

#include <ingot/compiler/jit/files.h>
#include <ingot/compiler/jit/process.h>

#include "jit_support.h"

namespace ingot::jit::testing {
namespace {

Command shell(const std::string& script) {
  Command command;
  command.program = "/bin/sh";
  command.arguments = {"-c", script};
  command.environment = {"PATH=" + search_path()};
  return command;
}

std::string contents(const UniqueFd& file) {
  const auto bytes = read_all(file.get(), 1 << 20);
  return bytes ? std::string(as_text(*bytes)) : "unreadable";
}

bool is_running(long pid) {
  const std::string stat = read_text(fmt::format("/proc/{}/stat", pid));
  const std::size_t state = stat.rfind(')');
  return state != std::string::npos && stat[state + 2] != 'Z';
}

TEST(JitProcess, Endings) {
  EXPECT_TRUE(run_command(shell("exit 0")).ok());
  const Ending failed = run_command(shell("exit 3"));
  EXPECT_EQ(failed.kind, Ending::kExited);
  EXPECT_EQ(failed.text(), "ended with status 3");
  const Ending killed = run_command(shell("kill -9 $$"));
  EXPECT_EQ(killed.kind, Ending::kSignalled);
  EXPECT_EQ(killed.text(), "was killed by signal 9 (Killed)");
  Command absent;
  absent.program = "/nowhere/to/be/found";
  const Ending missing = run_command(absent);
  EXPECT_EQ(missing.kind, Ending::kNotStarted);
  EXPECT_EQ(missing.text(), "cannot be started (No such file or directory)");
}

TEST(JitProcess, SeesOnlyItsDescriptorsAndEnvironment) {
  const UniqueFd input = anonymous_file({}), output = anonymous_file({}),
                 extra = anonymous_file({});
  const UniqueFd inherited(fcntl(output.get(), F_DUPFD, 50));  // open on exec
  ASSERT_EQ(write_all(input.get(), as_bytes("a line\n")), 0);
  lseek(input.get(), 0, SEEK_SET);
  Command command = shell(
      "read line; echo \"got $line\"; echo three >/proc/self/fd/3; echo $(ls /proc/$$/fd); env");
  command.environment = {"ONLY=this", "PATH=" + search_path()};
  command.descriptors = {input.get(), output.get(), -1, extra.get()};
  ASSERT_TRUE(run_command(command).ok());
  EXPECT_EQ(contents(extra), "three\n");
  const std::string text = contents(output);
  EXPECT_NE(text.find("got a line\n"), std::string::npos) << text;
  EXPECT_NE(text.find("ONLY=this\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("HOME="), std::string::npos) << text;
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
  EXPECT_EQ(text.find("50"), std::string::npos) << text;
#endif
}

TEST(JitProcess, SwappedDescriptorNumbers) {
  Child child([]() -> std::string {
    // Descriptors 0 to 2 of this process are files whose numbers are wanted in another order.
    std::vector<UniqueFd> files;
    for (int i = 0; i < 3; ++i) close(i);
    for (int i = 0; i < 3; ++i) files.push_back(unlinked_file("/tmp"));
    if (files[0].get() != 0 || files[2].get() != 2) return "unexpected numbers";
    if (write_all(1, as_bytes("in\n")) != 0) return "write";
    lseek(1, 0, SEEK_SET);
    Command command = shell("read x; echo out $x; echo err >&2");
    command.descriptors = {1, 2, 0};
    if (!run_command(command).ok()) return "failed";
    return contents(files[2]) == "out in\n" && contents(files[0]) == "err\n" ? "" : "mixed up";
  });
  EXPECT_EQ(child.report(), "");
}

TEST(JitProcess, ATimeLimitEndsTheProgramAndItsChildren) {
  const UniqueFd output = anonymous_file({});
  Command command = shell("sleep 300 & echo $!; wait");
  command.descriptors = {-1, output.get()};
  command.timeout = std::chrono::milliseconds(200);
  const auto start = std::chrono::steady_clock::now();
  const Ending ending = run_command(command);
  EXPECT_EQ(ending.kind, Ending::kTimedOut);
  EXPECT_EQ(ending.text(), "took too long and was stopped");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  const long grandchild = std::stol(contents(output));
  for (int i = 0; i < 1000 && is_running(grandchild); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(is_running(grandchild));
}

TEST(JitProcess, BlockedAndIgnoredSignalsAreNotInherited) {
  Child child([]() -> std::string {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    signal(SIGPIPE, SIG_IGN);
    const UniqueFd output = anonymous_file({});
    Command command = shell("grep -E 'SigBlk|SigIgn' /proc/self/status | cut -f 2");
    command.descriptors = {-1, output.get()};
    if (!run_command(command).ok()) return "failed";
    std::istringstream text(contents(output));
    unsigned long blocked = ~0UL, ignored = ~0UL;
    text >> std::hex >> blocked >> ignored;
    // The C library keeps signals 32 and 33 for itself.
    ignored &= ~(3UL << 31);
    return blocked == 0 && ignored == 0 ? "" : text.str();
  });
  EXPECT_EQ(child.report(), "");
}

TEST(JitProcess, AnEndingThatSomebodyElseTook) {
  Child child([]() -> std::string {
    signal(SIGCHLD, SIG_IGN);  // the system reaps at once; no status is left
    const Ending ending = run_command(shell("exit 0"));
    return ending.kind == Ending::kUnknown ? "" : ending.text();
  });
  EXPECT_EQ(child.report(), "");
}

}  // namespace
}  // namespace ingot::jit::testing
