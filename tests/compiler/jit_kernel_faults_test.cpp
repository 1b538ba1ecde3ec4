// The kernel cache when something is wrong: no compiler, failing compilers, damaged or foreign
// entries, killed and concurrent processes, folders that cannot be used.
#include <chrono>
#include <cstring>
#include <random>
#include <sys/resource.h>
#include <thread>

#include "jit_support.h"

namespace ingot::jit::testing {
namespace {

// A compiler that counts its compiles in `folder`/count, then runs `action`.
std::string counting_compiler(const Folder& folder, const std::string& action) {
  return write_script(folder.path("cxx"),
                      "[ \"$1\" = --version ] && echo fake 1.0 && exit 0\necho x >> " +
                          folder.path("count") + "\n" + action + "\n");
}

int compiles(const Folder& folder) {
  const std::string text = read_text(folder.path("count"));
  return static_cast<int>(std::count(text.begin(), text.end(), 'x'));
}

// The full keys of the kernels in a disk cache, read from the entries' own bytes.
std::vector<std::string> stored_keys(const std::string& folder) {
  std::vector<std::string> keys;
  for (const std::string& name : names_in(folder, ".kernel")) {
    const std::string entry = read_text(folder + "/" + name);
    std::uint64_t size = 0;
    std::memcpy(&size, entry.data() + 8, sizeof(size));
    if (entry.substr(56).starts_with("kernel ")) keys.push_back(entry.substr(56, size));
  }
  return keys;
}

TEST(JitKernelFaults, NoCompilerIsRemembered) {
  const Folder empty, folder;
  KernelCacheOptions options = cache_options(folder.path());
  options.compiler.search_path = empty.path();
  KernelCache cache(options);
  const KernelResult result = get_affine(cache, 1, 0);
  EXPECT_FALSE(result.kernel);
  EXPECT_EQ(result.origin, KernelOrigin::kFailed);
  EXPECT_TRUE(result.error.starts_with("no host compiler: ")) << result.error;
  write_script(empty.path("g++"), "exec /usr/bin/g++ \"$@\"\n");  // too late for this process
  EXPECT_EQ(get_affine(cache, 1, 0).error, result.error);
  const auto many = cache.get_many({{affine(1, 0), "affine", {}}, {affine(2, 0), "affine", {}}});
  EXPECT_EQ(many[1].error, result.error);
}

TEST(JitKernelFaults, AFailingCompileIsRemembered) {
  const Folder tools, folder;
  KernelCacheOptions options = cache_options(folder.path());
  options.compiler.cxx = counting_compiler(tools, "echo 'kernel.cpp:1: error: boom' >&2; exit 1");
  KernelCache cache(options);
  const KernelResult first = get_affine(cache, 1, 0);
  EXPECT_NE(first.error.find("boom"), std::string::npos) << first.error;
  EXPECT_NE(first.error.find(folder.path("failed-")), std::string::npos) << first.error;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(get_affine(cache, 1, 0).error, first.error);
  EXPECT_EQ(compiles(tools), 1);
  EXPECT_EQ(cache.statistics().failures, 1u);
  EXPECT_EQ(cache.statistics().compiles, 0u);
  EXPECT_EQ(get_affine(cache, 2, 0).kernel, nullptr);
  EXPECT_EQ(compiles(tools), 2) << "another source is another question";
}

TEST(JitKernelFaults, AKilledCompilerIsAskedAgainAFewTimes) {
  const Folder tools;
  const std::string real = HostCompiler(compiler_options()).info()->program;
  KernelCacheOptions options = cache_options("");
  options.compiler.cxx = counting_compiler(tools, "kill -9 $$");
  KernelCache broken(options);
  for (int i = 0; i < 6; ++i) {
    const KernelResult result = get_affine(broken, 1, 0);
    EXPECT_EQ(result.error,
              "host compiler " + options.compiler.cxx + " was killed by signal 9 (Killed)");
  }
  EXPECT_EQ(compiles(tools), 3);

  fs::remove(tools.path("count"));
  options.compiler.cxx =
      counting_compiler(tools, fmt::format("[ $(wc -l < {}) = 1 ] && kill -9 $$\nexec {} \"$@\"",
                                           tools.path("count"), real));
  KernelCache shaken(options);
  EXPECT_FALSE(get_affine(shaken, 1, 0).kernel);
  EXPECT_EQ(check_affine(get_affine(shaken, 1, 0), 1, 0), "");
  EXPECT_EQ(compiles(tools), 2);
}

TEST(JitKernelFaults, DamagedEntriesAreCompiledAgain) {
  const Folder folder;
  LogLines lines;
  KernelCacheOptions options = cache_options(folder.path());
  options.log = lines.log();
  const auto fresh = [&] {
    KernelCache cache(options);
    const KernelResult result = get_affine(cache, 2, 1);
    EXPECT_EQ(check_affine(result, 2, 1), "");
    return result.origin;
  };
  ASSERT_EQ(fresh(), KernelOrigin::kCompiled);
  ASSERT_EQ(fresh(), KernelOrigin::kDisk);
  std::mt19937 random(5);
  for (int round = 0; round < 4; ++round) {
    for (const std::string& name : names_in(folder.path(), ".kernel")) {
      std::string entry = read_text(folder.path(name));
      if (round == 0) entry.clear();
      if (round == 1) entry.resize(entry.size() / 2);
      if (round == 2) entry[random() % entry.size()] ^= 1;
      fs::remove(folder.path(name));
      if (round == 3) fs::create_directory(folder.path(name));
      if (round != 3) write_text(folder.path(name), entry);
    }
    EXPECT_EQ(fresh(), KernelOrigin::kCompiled) << round;
    EXPECT_EQ(fresh(), KernelOrigin::kDisk) << round;
  }
  // A cache logs each damaged entry once: the kernel's and the compiler's record.
  EXPECT_EQ(lines.count(), 8) << lines.text();
}

TEST(JitKernelFaults, AnEntryThatDoesNotLoadIsReplaced) {
  const Folder folder;
  LogLines lines;
  KernelCacheOptions options = cache_options(folder.path());
  options.log = lines.log();
  {
    KernelCache cache(options);
    get_affine(cache, 2, 1);
  }
  const auto keys = stored_keys(folder.path());
  ASSERT_EQ(keys.size(), 1u);
  Bytes foreign(5000);
  std::memcpy(foreign.data(),
              "\x7f"
              "ELF\2\1\1",
              7);
  ASSERT_TRUE(DiskCache({folder.path()}).store(Key(keys[0]), foreign));
  {
    KernelCache cache(options);
    const KernelResult result = get_affine(cache, 2, 1);
    EXPECT_EQ(result.origin, KernelOrigin::kCompiled);
    EXPECT_EQ(check_affine(result, 2, 1), "");
  }
  EXPECT_EQ(lines.count(), 1) << lines.text();
  KernelCache cache(options);
  EXPECT_EQ(get_affine(cache, 2, 1).origin, KernelOrigin::kDisk);
}

Digest one_for_all(std::string_view) { return {}; }

TEST(JitKernelFaults, AConstantHashStillGivesEachItsOwn) {
  const Folder folder;
  KernelCacheOptions options = cache_options(folder.path());
  options.hasher = one_for_all;
  KernelCache cache(options);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 5; ++i) {
      const auto n = static_cast<float>(i);
      EXPECT_EQ(check_affine(get_affine(cache, 1, n), 1, n), "");
    }
    if (round == 1) cache.clear();
  }
  EXPECT_GE(cache.statistics().memory_hits, 5u);
}

TEST(JitKernelFaults, ColdProcessesAtOnce) {
  const Folder folder;
  const auto body = [&]() -> std::string {
    KernelCache cache(cache_options(folder.path()));
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 2; ++i) {
        const auto n = static_cast<float>(i);
        const std::string wrong = check_affine(get_affine(cache, 2, n), 2, n);
        if (!wrong.empty()) return wrong;
      }
      cache.clear();
    }
    return cache.statistics().disk_hits >= 4 ? "" : "the folder was not used";
  };
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < 4; ++i) children.push_back(std::make_unique<Child>(body));
  for (auto& child : children) EXPECT_EQ(child->report(), "");
}

TEST(JitKernelFaults, KilledDuringTheFirstCompile) {
  const Folder folder, temporary;
  KernelCacheOptions options = cache_options(folder.path());
  options.compiler.environment = {"TMPDIR=" + temporary.path()};
  std::mt19937 random(3);
  constexpr int kRounds = 16;
  const Stopwatch clock;
  ASSERT_TRUE(get_affine(*std::make_unique<KernelCache>(cache_options("")), 1, 0).kernel);
  const double one_compile = clock.ms();
  for (int round = 0; round < kRounds; ++round) {
    Child child([&]() -> std::string {
      KernelCache cache(options);
      for (int i = 0;; ++i) get_affine(cache, 1, static_cast<float>(round * 1000 + i));
    });
    std::this_thread::sleep_for(
        std::chrono::microseconds(static_cast<int>(one_compile * 3000) * (1 + round % 8) / 8 +
                                  static_cast<int>(random() % 1000)));
    child.end(SIGKILL);
  }
  LogLines lines;
  options.log = lines.log();
  KernelCache cache(options);
  for (int round = 0; round < kRounds; ++round) {
    const auto n = static_cast<float>(round * 1000);
    EXPECT_EQ(check_affine(get_affine(cache, 1, n), 1, n), "");
  }
  EXPECT_GT(cache.statistics().disk_hits, 0u);
  EXPECT_EQ(lines.text(), "");
  EXPECT_TRUE(names_in(temporary.path()).empty());
}

TEST(JitKernelFaults, AFolderWhereNothingCanBeMade) {
  const Folder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  Child child([&]() -> std::string {
    if (!become_ordinary_user(folder.path())) return "cannot change the user";
    if (chmod(folder.path().c_str(), 0500) != 0) return "chmod";
    LogLines lines;
    KernelCacheOptions options = cache_options(folder.path());
    options.log = lines.log();
    KernelCache cache(options);
    for (int i = 0; i < 2; ++i) {
      const KernelResult result = get_affine(cache, 2, static_cast<float>(i));
      const std::string wrong = check_affine(result, 2, static_cast<float>(i));
      if (!wrong.empty()) return wrong;
      if (result.ms.disk_write > 1000) return "searched for a place for too long";
    }
    if (get_affine(cache, 2, 0).origin != KernelOrigin::kMemory) return "not in memory";
    return lines.count() == 1 ? "" : "not one sentence: " + lines.text();
  });
  EXPECT_EQ(child.report(), "");
}

TEST(JitKernelFaults, ARefusedFolderLeavesTheMemoryCache) {
  const Folder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0777), 0);
  LogLines lines;
  KernelCacheOptions options = cache_options(folder.path());
  options.log = lines.log();
  KernelCache cache(options);
  EXPECT_EQ(get_affine(cache, 2, 0).origin, KernelOrigin::kCompiled);
  EXPECT_EQ(get_affine(cache, 2, 0).origin, KernelOrigin::kMemory);
  EXPECT_EQ(lines.count(), 1) << lines.text();
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(JitKernelFaults, AFileSizeLimitIsAnErrorAndNotTheEnd) {
  Child child([]() -> std::string {
    const rlimit limit{500, 500};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return "setrlimit";
    KernelCache cache(cache_options(""));
    const KernelResult result = get_affine(cache, 1, 0);
    return !result.kernel && !result.error.empty() ? "" : "no error";
  });
  EXPECT_EQ(child.report(), "");
}

TEST(JitKernelFaults, AWarmProcessStartsNoProgram) {
  const Folder folder;
  {
    KernelCache cache(cache_options(folder.path()));
    ASSERT_EQ(get_affine(cache, 2, 3).origin, KernelOrigin::kCompiled);
  }
  Child child([&]() -> std::string {
    const Stopwatch clock;
    KernelCache cache(cache_options(folder.path()));
    const KernelResult result = get_affine(cache, 2, 3);
    const double ms = clock.ms();
    if (result.origin != KernelOrigin::kDisk) return "not from the disk";
    rusage children{};
    getrusage(RUSAGE_CHILDREN, &children);
    if (children.ru_minflt != 0) return "a program was started";
    // Some 1.5 ms; the bound leaves room for sanitizers and busy machines.
    return ms < 1000 ? "" : fmt::format("took {} ms", ms);
  });
  EXPECT_EQ(child.report(), "");
}

}  // namespace
}  // namespace ingot::jit::testing
