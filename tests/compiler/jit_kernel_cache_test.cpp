// Kernels from memory, from the disk and from the compiler, in one process and its threads.
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "jit_support.h"

namespace ingot::jit::testing {
namespace {

TEST(JitKernelCache, MemoryThenDiskThenCompiler) {
  const Folder folder;
  KernelCache cache(cache_options(folder.path()));
  EXPECT_FALSE(cache.get_from_memory(affine(2, 0), "affine", {}));
  const KernelResult compiled = get_affine(cache, 2, 0);
  EXPECT_EQ(compiled.origin, KernelOrigin::kCompiled);
  EXPECT_EQ(check_affine(compiled, 2, 0), "");
  EXPECT_GT(compiled.ms.compile, 0);
  EXPECT_GT(compiled.ms.link, 0);
  EXPECT_GT(compiled.ms.load, 0);
  EXPECT_GT(compiled.ms.disk_write, 0);
  const KernelResult again = get_affine(cache, 2, 0);
  EXPECT_EQ(again.origin, KernelOrigin::kMemory);
  EXPECT_EQ(again.kernel, compiled.kernel);
  EXPECT_EQ(again.ms.compile + again.ms.disk_read, 0);
  EXPECT_EQ(cache.get_from_memory(affine(2, 0), "affine", {})->kernel, compiled.kernel);

  KernelCache other(cache_options(folder.path()));
  const KernelResult stored = get_affine(other, 2, 0);
  EXPECT_EQ(stored.origin, KernelOrigin::kDisk);
  EXPECT_EQ(check_affine(stored, 2, 0), "");
  EXPECT_NE(stored.kernel, compiled.kernel);

  const KernelCacheStatistics statistics = cache.statistics();
  EXPECT_EQ(statistics.compiles, 1u);
  EXPECT_EQ(statistics.memory_hits, 2u);
  EXPECT_EQ(statistics.disk_hits, 0u);
  EXPECT_EQ(statistics.modules, 1u);
  EXPECT_DOUBLE_EQ(statistics.ms.compile, compiled.ms.compile);
  EXPECT_EQ(other.statistics().disk_hits, 1u);
}

TEST(JitKernelCache, EqualNamesOfDifferentSources) {
  const Folder folder;
  for (const bool reversed : {false, true}) {
    KernelCache cache(cache_options(folder.path()));
    const std::array<std::pair<float, float>, 2> kernels = {{{2, 0}, {1, 100}}};
    for (int i = 0; i < 4; ++i) {
      const auto [scale, shift] = kernels[static_cast<std::size_t>(reversed ? 1 - i % 2 : i % 2)];
      EXPECT_EQ(check_affine(get_affine(cache, scale, shift), scale, shift), "");
    }
    EXPECT_EQ(cache.statistics().compiles, reversed ? 0u : 2u);
    EXPECT_EQ(cache.statistics().disk_hits, reversed ? 2u : 0u);
    EXPECT_EQ(cache.statistics().memory_hits, 2u);
  }
}

TEST(JitKernelCache, EverythingThatMattersIsInTheKey) {
  const Folder folder;
  const auto prelude = [](int n) {
    return std::make_shared<const Prelude>(fmt::format("constexpr int kNumber = {};\n", n));
  };
  const std::string body = "extern \"C\" int number() { return kNumber + 0; }\n";
  const auto compiled = [&](const KernelSource& source, const KernelOptions& options,
                            int generator_version = 0) {
    KernelCacheOptions settings = cache_options(folder.path());
    settings.generator_version = generator_version;
    KernelCache cache(settings);
    const KernelResult result = cache.get(source, "number", options);
    EXPECT_TRUE(result.kernel) << result.error;
    return result.origin == KernelOrigin::kCompiled;
  };
  EXPECT_TRUE(compiled({prelude(1), body}, {}));
  EXPECT_FALSE(compiled({prelude(1), body}, {}));
  EXPECT_TRUE(compiled({prelude(2), body}, {}));
  EXPECT_TRUE(compiled({prelude(1), body + "\n"}, {}));
  EXPECT_TRUE(compiled({prelude(1), body}, {{"-g"}, ""}));
  EXPECT_TRUE(compiled({prelude(1), body}, {{}, "avx2,fma"}));
  EXPECT_TRUE(compiled({prelude(1), body}, {}, 1));
  EXPECT_FALSE(compiled({prelude(1), body}, {}, 1));
  KernelCache cache(cache_options(folder.path()));
  EXPECT_EQ(cache.get({prelude(2), body}, "number", {}).kernel->as<int()>()(), 2);
  EXPECT_EQ(cache.get({prelude(1), body}, "number", {}).kernel->as<int()>()(), 1);
}

TEST(JitKernelCache, SeveralFunctionsOfOneUnit) {
  KernelCache cache(cache_options(""));
  const KernelSource source{nullptr,
                            "extern \"C\" int one() { return 1; }\n"
                            "extern \"C\" int two() { return 2; }\n"};
  const KernelResult one = cache.get(source, "one", {}), two = cache.get(source, "two", {});
  EXPECT_EQ(one.origin, KernelOrigin::kCompiled);
  EXPECT_EQ(two.origin, KernelOrigin::kMemory);
  EXPECT_EQ(one.kernel->as<int()>()() + two.kernel->as<int()>()(), 3);
  const KernelResult three = cache.get(source, "three", {});
  EXPECT_EQ(three.kernel, nullptr);
  EXPECT_EQ(three.error, "kernel cache: the unit defines no function 'three'");
  EXPECT_EQ(cache.statistics().compiles, 1u);
}

TEST(JitKernelCache, OneThreadCompilesAndTheOthersWait) {
  KernelCache cache(cache_options(""));
  std::array<KernelResult, 8> results;
  std::vector<std::thread> threads;
  for (KernelResult& result : results) {
    threads.emplace_back([&] { result = get_affine(cache, 3, 1); });
  }
  for (std::thread& thread : threads) thread.join();
  int compiles = 0, waits = 0;
  for (const KernelResult& result : results) {
    EXPECT_EQ(check_affine(result, 3, 1), "");
    EXPECT_EQ(result.kernel, results[0].kernel);
    compiles += result.origin == KernelOrigin::kCompiled;
    waits += result.ms.wait > 0;
  }
  EXPECT_EQ(compiles, 1);
  EXPECT_GT(waits, 0);
  EXPECT_EQ(cache.statistics().compiles, 1u);
  EXPECT_EQ(cache.statistics().memory_hits, 7u);
}

TEST(JitKernelCache, ManyKernelsCompileInParallel) {
  const Folder folder, meeting;
  const std::string real = HostCompiler(compiler_options()).info()->program;
  KernelCacheOptions options = cache_options(folder.path());
  // Each compile waits, for up to a minute, until another has started: alone it would fail.
  options.compiler.cxx =
      write_script(meeting.path("cxx"),
                   fmt::format("[ \"$1\" = --version ] && exec {0} --version\n"
                               "touch {1}/started-$$\n"
                               "for i in $(seq 600); do\n"
                               "  [ $(ls {1} | grep -c started) -ge 2 ] && exec {0} \"$@\"\n"
                               "  sleep 0.1\n"
                               "done\n"
                               "exit 1\n",
                               real, meeting.path()));
  options.compile_threads = 2;
  KernelCache cache(options);
  std::vector<KernelRequest> requests;
  for (int i = 0; i < 6; ++i) requests.push_back({affine(1 + i % 5, i % 5), "affine", {}});
  const auto results = cache.get_many(requests);
  ASSERT_EQ(results.size(), 6u);
  for (int i = 0; i < 6; ++i) {
    const auto n = static_cast<float>(i % 5);
    EXPECT_EQ(check_affine(results[static_cast<std::size_t>(i)], 1 + n, n), "");
  }
  EXPECT_EQ(cache.statistics().compiles, 5u);
  for (const KernelResult& result : cache.get_many(requests)) {
    EXPECT_EQ(result.origin, KernelOrigin::kMemory);
  }
}

// A count of the runs of the compiler, in a file.
HostCompilerOptions counted(const Folder& folder) {
  HostCompilerOptions options = compiler_options();
  options.cxx = write_script(
      folder.path("cxx"),
      fmt::format("[ \"$1\" = --version ] || echo run >> {1}\nexec {0} \"$@\"\n",
                  HostCompiler(compiler_options()).info()->program, folder.path("runs")));
  return options;
}

KernelRequest named(KernelSource source) {
  source.names = {"affine", "helper"};
  source.body = "static float helper(float x) { return x; }\n" + source.body;
  return {source, "affine", {}};
}

TEST(JitKernelCache, KernelsOfOneRequestShareCompileUnits) {
  const Folder folder, tools;
  KernelCacheOptions options = cache_options(folder.path());
  options.compiler = counted(tools);
  options.compile_threads = 2;
  std::vector<KernelRequest> requests;
  for (int i = 0; i < 8; ++i) requests.push_back(named(affine(1 + i, i)));
  // One that does not compile takes no other's kernel, and two that are equal are one.
  requests.push_back({{nullptr, "nonsense", {"affine"}}, "affine", {}});
  requests.push_back(requests[0]);
  const auto check = [&](KernelCache& cache, KernelOrigin origin) {
    const auto results = cache.get_many(requests);
    for (int i = 0; i < 8; ++i) {
      const KernelResult& result = results[static_cast<std::size_t>(i)];
      EXPECT_EQ(check_affine(result, static_cast<float>(1 + i), static_cast<float>(i)), "");
      EXPECT_EQ(result.origin, origin);
    }
    EXPECT_EQ(results[8].kernel, nullptr);
    EXPECT_NE(results[8].error.find("nonsense"), std::string::npos) << results[8].error;
    EXPECT_EQ(results[9].kernel, results[0].kernel);
  };
  {
    KernelCache cache(options);
    check(cache, KernelOrigin::kCompiled);
    EXPECT_EQ(cache.statistics().compiles, 8u);
    EXPECT_EQ(cache.statistics().failures, 1u);
    const std::string runs = read_text(tools.path("runs"));
    // Two units; the parts of the one with nonsense again, one by one.
    EXPECT_LE(std::count(runs.begin(), runs.end(), '\n'), 2 + 5) << runs;
    check(cache, KernelOrigin::kMemory);
  }
  KernelCache later(options);  // each kernel has its own entry on the disk
  check(later, KernelOrigin::kDisk);
}

TEST(JitKernelCache, Asynchronous) {
  KernelCache cache(cache_options(""));
  auto good = cache.get_async({affine(5, 2), "affine", {}});
  auto bad = cache.get_async({{nullptr, "nonsense"}, "affine", {}});
  EXPECT_EQ(check_affine(good.get(), 5, 2), "");
  EXPECT_FALSE(bad.get().kernel);
}

TEST(JitKernelCache, DestructionDropsWhatHasNotBegun) {
  std::vector<std::future<KernelResult>> futures;
  {
    KernelCacheOptions options = cache_options("");
    options.compile_threads = 1;
    KernelCache cache(options);
    for (int i = 0; i < 50; ++i) futures.push_back(cache.get_async({affine(1, i), "affine", {}}));
  }
  int dropped = 0;
  for (auto& future : futures) {
    try {
      future.get();
    } catch (const std::future_error&) {
      ++dropped;
    }
  }
  EXPECT_GT(dropped, 40);
}

TEST(JitKernelCache, KernelsOutliveTheCache) {
  KernelResult result;
  {
    KernelCache cache(cache_options(""));
    result = get_affine(cache, 4, 4);
    cache.clear();
    EXPECT_EQ(cache.statistics().modules, 0u);
    EXPECT_EQ(check_affine(result, 4, 4), "");
  }
  EXPECT_EQ(check_affine(result, 4, 4), "");
}

TEST(JitKernelCache, MemoryIsBounded) {
  const Folder folder;
  KernelCacheOptions options = cache_options(folder.path());
  options.max_modules = 4;
  KernelCache cache(options);
  const KernelResult held = get_affine(cache, 1, 0);
  for (int i = 1; i < 9; ++i) {
    EXPECT_EQ(check_affine(get_affine(cache, 1, static_cast<float>(i)), 1, static_cast<float>(i)),
              "");
    EXPECT_LE(cache.statistics().modules, 4u);
  }
  EXPECT_EQ(get_affine(cache, 1, 0).kernel, held.kernel) << "a kernel in use was dropped";
  EXPECT_EQ(get_affine(cache, 1, 8).origin, KernelOrigin::kMemory);
  EXPECT_EQ(get_affine(cache, 1, 1).origin, KernelOrigin::kDisk);
}

TEST(JitKernelCache, DumpsSources) {
  const Folder folder;
  KernelCacheOptions options = cache_options("");
  options.dump_folder = folder.path();
  KernelCache cache(options);
  const KernelSource source{std::make_shared<const Prelude>("// the prelude\n"), affine(1, 1).body};
  cache.get(source, "affine", {});
  const auto names = names_in(folder.path());
  ASSERT_EQ(names.size(), 1u);
  EXPECT_EQ(read_text(folder.path(names[0])), "// the prelude\n" + affine(1, 1).body);
}

TEST(JitKernelCache, DumpsTheSourceOfAStoredKernelToo) {
  const Folder disk, folder;
  KernelCacheOptions options = cache_options(disk.path());
  KernelCache(options).get(affine(1, 1), "affine", {});
  options.dump_folder = folder.path("made/here");
  EXPECT_EQ(KernelCache(options).get(affine(1, 1), "affine", {}).origin, KernelOrigin::kDisk);
  EXPECT_EQ(names_in(options.dump_folder).size(), 1u);
}

TEST(JitKernelCache, SaysThatACompilerThatWasAskedForIsMissing) {
  std::string said;
  KernelCacheOptions options = cache_options("");
  options.log = [&](std::string_view sentence) { said += sentence; };
  options.compiler.cxx = "none";
  EXPECT_EQ(KernelCache(options).get(affine(1, 1), "affine", {}).origin, KernelOrigin::kFailed);
  EXPECT_EQ(said, "");
  options.compiler.cxx = "/no/such/compiler";
  EXPECT_EQ(KernelCache(options).get(affine(1, 1), "affine", {}).origin, KernelOrigin::kFailed);
  EXPECT_NE(said.find("INGOT_CXX names '/no/such/compiler'"), std::string::npos) << said;
}

// The child inherits an unfinished unit and a pool, and none of the threads behind them.
TEST(JitKernelCache, AForkedChildCompilesOnItsOwn) {
  const Folder folder;
  const std::string real = HostCompiler(compiler_options()).info()->program;
  KernelCacheOptions options = cache_options("");
  options.compiler.cxx =
      write_script(folder.path("cxx"), fmt::format("[ \"$1\" = --version ] && exec {0} --version\n"
                                                   "touch {1}/started\n"
                                                   "while ! [ -e {1}/go ]; do sleep 0.02; done\n"
                                                   "exec {0} \"$@\"\n",
                                                   real, folder.path()));
  KernelCache cache(options);
  auto unfinished = cache.get_async({affine(2, 0), "affine", {}});
  while (!fs::exists(folder.path("started"))) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  Child child([&]() -> std::string {
    write_text(folder.path("go"), "");
    const std::string wrong = check_affine(get_affine(cache, 2, 0), 2, 0);
    if (!wrong.empty()) return wrong;
    return check_affine(cache.get_async({affine(3, 0), "affine", {}}).get(), 3, 0);
  });
  EXPECT_EQ(child.report(), "");
  EXPECT_EQ(check_affine(unfinished.get(), 2, 0), "");
}

}  // namespace
}  // namespace ingot::jit::testing
