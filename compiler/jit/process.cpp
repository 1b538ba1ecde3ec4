#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <fmt/format.h>

#include <ingot/compiler/jit/files.h>
#include <ingot/compiler/jit/process.h>

namespace ingot::jit {
namespace {

using Clock = std::chrono::steady_clock;

class SpawnSettings {
 public:
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    // A group of its own, so that a timeout also ends what the program has started.
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (const std::string& s : strings) out.push_back(const_cast<char*>(s.c_str()));
  out.push_back(nullptr);
  return out;
}

// One step of waiting, at most `limit`: on the child's descriptor, or a short sleep without one.
void pause_for(int child_fd, std::chrono::milliseconds limit, std::chrono::microseconds& nap) {
  if (child_fd >= 0) {
    pollfd entry{child_fd, POLLIN, 0};
    poll(&entry, 1, static_cast<int>(limit.count()));
    return;
  }
  nap = std::min<std::chrono::microseconds>({nap * 2, std::chrono::milliseconds(5), limit});
  const timespec time{0, static_cast<long>(nap.count()) * 1000};
  nanosleep(&time, nullptr);
}

UniqueFd open_process(pid_t pid) {
#if defined(SYS_pidfd_open)
  return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
#else
  return {};
#endif
}

Ending wait_for(pid_t pid, std::chrono::milliseconds timeout) {
  const UniqueFd child_fd = open_process(pid);
  const Clock::time_point deadline = Clock::now() + timeout;
  std::chrono::microseconds nap(100);
  bool killed = false;
  for (;;) {
    int status = 0;
    const pid_t done = waitpid(pid, &status, killed ? 0 : WNOHANG);
    if (done < 0 && errno == EINTR) continue;
    if (killed) return {Ending::kTimedOut, 0};
    if (done < 0) return {Ending::kUnknown, 0};
    if (done == pid && WIFEXITED(status)) return {Ending::kExited, WEXITSTATUS(status)};
    if (done == pid) return {Ending::kSignalled, WTERMSIG(status)};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) {
      kill(-pid, SIGKILL);
      kill(pid, SIGKILL);
      killed = true;
    } else {
      pause_for(child_fd.get(), left, nap);
    }
  }
}

}  // namespace

std::string Ending::text() const {
  switch (kind) {
    case kExited:
      return fmt::format("ended with status {}", value);
    case kSignalled:
      return fmt::format("was killed by signal {} ({})", value, strsignal(value));
    case kTimedOut:
      return "took too long and was stopped";
    case kNotStarted:
      return fmt::format("cannot be started ({})", errno_text(value));
    case kUnknown:
      break;
  }
  return "ended, its status was taken by another part of the program";
}

Ending run_command(const Command& command) {
  SpawnSettings settings;
  // The wanted numbers may be in use by other descriptors of the list: move all of them away first.
  const int count = static_cast<int>(command.descriptors.size());
  std::vector<UniqueFd> moved;
  for (int wanted = 0; wanted < count; ++wanted) {
    const int fd = command.descriptors[static_cast<std::size_t>(wanted)];
    if (fd < 0) {
      posix_spawn_file_actions_addopen(&settings.actions, wanted, "/dev/null", O_RDWR, 0);
      continue;
    }
    moved.emplace_back(fcntl(fd, F_DUPFD_CLOEXEC, count));
    if (!moved.back()) return {Ending::kNotStarted, errno};
    posix_spawn_file_actions_adddup2(&settings.actions, moved.back().get(), wanted);
  }
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
  posix_spawn_file_actions_addclosefrom_np(&settings.actions, count);
#endif
  std::vector<std::string> arguments = command.arguments;
  arguments.insert(arguments.begin(), command.program);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, command.program.c_str(), &settings.actions, &settings.attributes,
                  pointers(arguments).data(), pointers(command.environment).data());
  if (error != 0) return {Ending::kNotStarted, error};
  return wait_for(pid, command.timeout);
}

}  // namespace ingot::jit
