// What the tests of the run-time compiler share: folders that vanish, forked children that report
// a sentence, sample sources, fake compilers.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ingot/compiler/jit/kernel_cache.h>

namespace ingot::jit::testing {

namespace fs = std::filesystem;

// A new folder, private to this user, removed at the end.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "ingot-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "mkdtemp " << pattern;
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path(const std::string& name = "") const {
    return name.empty() ? path_ : path_ + "/" + name;
  }

 private:
  std::string path_;
};

inline std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

inline std::vector<std::string> names_in(const std::string& folder, const std::string& suffix) {
  std::vector<std::string> names = names_in(folder);
  std::erase_if(names, [&](const std::string& name) { return !name.ends_with(suffix); });
  return names;
}

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// A program in sh; the file is executable when this returns.
inline std::string write_script(const std::string& path, const std::string& text) {
  write_text(path, "#!/bin/sh\n" + text);
  fs::permissions(path, fs::perms::owner_all | fs::perms::group_exec | fs::perms::group_read |
                            fs::perms::others_exec | fs::perms::others_read);
  return path;
}

// A forked process that runs `body` and reports its sentence; empty means that all was right.
class Child {
 public:
  explicit Child(const std::function<std::string()>& body) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) ADD_FAILURE() << "pipe2";
    std::fflush(nullptr);  // or the child would print the parent's lines again
    pid_ = fork();
    if (pid_ == 0) {
      std::string report;
      try {
        report = body();
      } catch (const std::exception& failure) {
        report = std::string("threw: ") + failure.what();
      }
      const ssize_t written = write(ends[1], report.data(), report.size());
      _exit(written == static_cast<ssize_t>(report.size()) ? 0 : 1);
    }
    close(ends[1]);
    report_ = ends[0];
  }
  ~Child() {
    if (pid_ > 0) end(SIGKILL);
    close(report_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void end(int signal) {
    kill(pid_, signal);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  std::string report() {
    std::string text;
    char buffer[4096];
    while (const ssize_t n = read(report_, buffer, sizeof(buffer))) {
      if (n < 0) break;
      text.append(buffer, static_cast<std::size_t>(n));
    }
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    if (WIFSIGNALED(status)) text += fmt::format("ended by signal {}", WTERMSIG(status));
    return text;
  }

 private:
  pid_t pid_ = -1;
  int report_ = -1;
};

// The folder and this (child) process lose the rights that root has over files.
inline bool become_ordinary_user(const std::string& folder) {
  if (geteuid() != 0) return true;
  constexpr uid_t kNobody = 65534;
  return chown(folder.c_str(), kNobody, kNobody) == 0 && setgid(kNobody) == 0 &&
         setuid(kNobody) == 0;
}

// Mounts an empty file system for this (child) process alone. False where that is not allowed.
inline bool mount_private(const std::string& folder, unsigned long flags,
                          const std::string& options) {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (user != 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    write_text("/proc/self/setgroups", "deny");
    write_text("/proc/self/uid_map", fmt::format("{} {} 1", user, user));
    write_text("/proc/self/gid_map", fmt::format("{} {} 1", group, group));
  } else if (unshare(CLONE_NEWNS) != 0) {
    return false;
  }
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  return mount("tmpfs", folder.c_str(), "tmpfs", flags, options.c_str()) == 0;
}

// Everything that was logged, one sentence a line.
class LogLines {
 public:
  Log log() {
    return [this](std::string_view line) {
      const std::lock_guard lock(mutex_);
      text_.append(line).append("\n");
    };
  }
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  int count() const {
    const std::string all = text();
    return static_cast<int>(std::count(all.begin(), all.end(), '\n'));
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

inline std::string search_path() {
  const char* path = getenv("PATH");
  return path != nullptr ? path : "/usr/bin:/bin";
}

inline HostCompilerOptions compiler_options() {
  HostCompilerOptions options;
  options.search_path = search_path();
  return options;
}

inline KernelCacheOptions cache_options(const std::string& folder) {
  KernelCacheOptions options;
  options.disk.folder = folder;
  options.compiler = compiler_options();
  return options;
}

// void(const float* x, float* y, long n): y = x * scale + shift.
inline KernelSource affine(double scale, double shift) {
  return {nullptr, fmt::format("extern \"C\" void affine(const float* x, float* y, long n) {{\n"
                               "  for (long i = 0; i < n; ++i) y[i] = x[i] * {:.9e}f + {:.9e}f;\n"
                               "}}\n",
                               scale, shift)};
}

// Empty, or what is wrong with a result that should be affine(scale, shift).
inline std::string check_affine(const KernelResult& result, float scale, float shift) {
  if (!result.kernel) return "no kernel: " + result.error;
  const float x[3] = {0, 1, 2};
  float y[3] = {};
  result.kernel->as<void(const float*, float*, long)>()(x, y, 3);
  for (int i = 0; i < 3; ++i) {
    const float right = x[i] * scale + shift;
    if (y[i] != right) return fmt::format("y[{}] is {}, should be {}", i, y[i], right);
  }
  return {};
}

inline KernelResult get_affine(KernelCache& cache, float scale, float shift) {
  return cache.get(affine(scale, shift), "affine", {});
}

}  // namespace ingot::jit::testing
