// Finding and running the host compiler: its search order, its failures, what it leaves behind.
#include <cmath>

#include <ingot/compiler/jit/elf.h>
#include <ingot/compiler/jit/host_compiler.h>

#include "jit_support.h"

namespace ingot::jit::testing {
namespace {

constexpr const char* kAnswer = "extern \"C\" int answer() { return 42; }\n";

TEST(JitHostCompiler, CompilesAFreestandingSource) {
  HostCompiler compiler(compiler_options());
  ASSERT_NE(compiler.info(), nullptr) << compiler.missing();
  EXPECT_EQ(compiler.missing(), "");
  EXPECT_FALSE(compiler.info()->version.empty());
  const CompileResult result =
      compiler.compile("static int half() { return 21; }\n",
                       "extern \"C\" int answer() { return 2 * half(); }\n", {});
  ASSERT_EQ(result.error, "");
  EXPECT_TRUE(is_elf(result.object));
  EXPECT_GT(result.compile_ms, 0);
  EXPECT_GT(result.link_ms, 0);
  std::string error;
  const auto module = Module::load(result.object, {}, error);
  ASSERT_TRUE(module) << error;
  EXPECT_EQ(reinterpret_cast<int (*)()>(module->find("answer"))(), 42);
}

TEST(JitHostCompiler, SourcesLargerThanAPipe) {
  HostCompiler compiler(compiler_options());
  const std::string prelude = "/*" + std::string(3 << 20, 'x') + "*/\n";
  EXPECT_EQ(compiler.compile(prelude, kAnswer, {}).error, "");
}

// The flags that the numerics contract rests on, seen in the code's results.
TEST(JitHostCompiler, NoContractionAndWrappingIntegers) {
  HostCompiler compiler(compiler_options());
  std::vector<std::string> flags;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("fma")) flags.emplace_back("-mfma");
#endif
  const CompileResult result = compiler.compile(
      "",
      "extern \"C\" float mul_add(float a, float b, float c) { return a * b + c; }\n"
      "extern \"C\" bool grows(int x) { return x + 1 > x; }\n",
      flags);
  std::string error;
  const auto module = Module::load(result.object, {}, error);
  ASSERT_TRUE(module) << result.error << error;
  const float a = 1.0F + 0x1p-12F;
  volatile float product = a * a;
  EXPECT_EQ(reinterpret_cast<float (*)(float, float, float)>(module->find("mul_add"))(a, a, -1.0F),
            product - 1.0F);
  EXPECT_FALSE(reinterpret_cast<bool (*)(int)>(module->find("grows"))(2147483647));
}

TEST(JitHostCompiler, FunctionsOfTheCLibrary) {
  HostCompiler compiler(compiler_options());
  const CompileResult result = compiler.compile(
      "",
      "extern \"C\" void f(const double* x, double* y, long n) {\n"
      "  for (long i = 0; i < n; ++i) y[i] = __builtin_exp(x[i]) + __builtin_pow(x[i], 1.5);\n"
      "}\n"
      "extern \"C\" void clear(char* p, long n) { for (long i = 0; i < n; ++i) p[i] = 0; }\n",
      {});
  std::string error;
  const auto module = Module::load(result.object, {}, error);
  ASSERT_TRUE(module) << result.error << error;
  volatile double one = 1.25;
  const double x[2] = {0.3, one};
  double y[2] = {};
  reinterpret_cast<void (*)(const double*, double*, long)>(module->find("f"))(x, y, 2);
  EXPECT_EQ(y[0], std::exp(x[0]) + std::pow(x[0], 1.5));
  EXPECT_EQ(y[1], std::exp(x[1]) + std::pow(x[1], 1.5));
}

TEST(JitHostCompiler, AMissingFunctionIsASentence) {
  HostCompiler compiler(compiler_options());
  const CompileResult result =
      compiler.compile("",
                       "extern \"C\" int no_such_function();\n"
                       "extern \"C\" int answer() { return no_such_function(); }\n",
                       {});
  std::string error = result.error;
  EXPECT_EQ(error.empty() ? Module::load(result.object, {}, error) : nullptr, nullptr);
  EXPECT_NE(error.find("no_such_function"), std::string::npos) << error;
}

TEST(JitHostCompiler, AWrongSourceIsKeptAndQuoted) {
  const Folder folder;
  HostCompilerOptions options = compiler_options();
  options.dump_folder = folder.path();
  HostCompiler compiler(options);
  const std::string prelude = "struct Row {};\n", body = "int broken(Row) { return nonsense; }\n";
  const CompileResult result = compiler.compile(prelude, body, {});
  EXPECT_TRUE(result.object.empty());
  EXPECT_FALSE(result.transient);
  EXPECT_NE(result.error.find("ended with status 1"), std::string::npos) << result.error;
  EXPECT_NE(result.error.find("nonsense"), std::string::npos) << result.error;
  const auto names = names_in(folder.path());
  ASSERT_EQ(names.size(), 1u);
  EXPECT_NE(result.error.find(folder.path(names[0])), std::string::npos) << result.error;
  EXPECT_EQ(read_text(folder.path(names[0])), prelude + body);

  std::string noise = "extern \"C\" void f() {\n";
  for (int i = 0; i < 3000; ++i) noise += fmt::format("  undeclared_{} = 1;\n", i);
  EXPECT_LT(compiler.compile("", noise + "}\n", {}).error.size(), 5000u);
}

TEST(JitHostCompiler, LeavesNoFilesBehind) {
  const Folder temporary, here;
  Child child([&]() -> std::string {
    if (chdir(here.path().c_str()) != 0) return "chdir";
    HostCompilerOptions options = compiler_options();
    options.environment = {"TMPDIR=" + temporary.path()};
    HostCompiler compiler(options);
    if (!compiler.compile("", kAnswer, {}).error.empty()) return "does not compile";
    if (compiler.compile("", "nonsense", {}).error.empty()) return "compiles";
    for (const std::string& folder : {temporary.path(), here.path()}) {
      for (const std::string& name : names_in(folder)) return folder + " has " + name;
    }
    return "";
  });
  EXPECT_EQ(child.report(), "");
}

TEST(JitHostCompiler, NoCompiler) {
  const Folder empty;
  HostCompilerOptions options;
  options.search_path = empty.path();
  HostCompiler none(options);
  EXPECT_EQ(none.info(), nullptr);
  EXPECT_EQ(none.missing(),
            "no host compiler: none of c++, g++, clang++ on PATH works (INGOT_CXX names another)");
  EXPECT_EQ(none.compile("", kAnswer, {}).error, none.missing());

  options = compiler_options();
  options.cxx = "none";
  EXPECT_EQ(HostCompiler(options).missing(), "no host compiler: INGOT_CXX is 'none'");
  options.cxx = empty.path("g++");
  EXPECT_EQ(HostCompiler(options).missing(), "no host compiler: INGOT_CXX names '" + options.cxx +
                                                 "', which is no program that can be run");
  write_text(options.cxx, "#!/bin/sh\n");  // not executable
  EXPECT_NE(HostCompiler(options).missing().find("no program that can be run"), std::string::npos);
  write_script(options.cxx, "exit 1\n");
  EXPECT_NE(HostCompiler(options).missing().find("does not answer --version"), std::string::npos);
}

TEST(JitHostCompiler, SearchOrder) {
  const Folder first, second;
  write_script(first.path("c++"), "exit 1\n");
  write_script(second.path("g++"), "echo 'the second g++'\n");
  write_script(second.path("clang++"), "echo 'clang++'\n");
  HostCompilerOptions options;
  options.search_path = ":" + first.path() + ":relative:" + second.path() + ":/nowhere";
  EXPECT_EQ(HostCompiler(options).info()->version, "the second g++");
  options.cxx = "clang++";
  EXPECT_EQ(HostCompiler(options).info()->version, "clang++");
  options.cxx = second.path("clang++") + "  -extra";
  HostCompiler with_arguments(options);
  ASSERT_NE(with_arguments.info(), nullptr);
  EXPECT_EQ(with_arguments.info()->leading, std::vector<std::string>{"-extra"});

  // A link to a compiler cache is passed over for the compiler behind it.
  write_script(first.path("ccache"), "echo 'the cache'\n");
  fs::create_symlink(first.path("ccache"), first.path("g++"));
  options.cxx = "";
  EXPECT_EQ(HostCompiler(options).info()->version, "the second g++");
}

TEST(JitHostCompiler, TheEnvironmentIsCleaned) {
  const Folder folder;
  write_script(folder.path("cxx"), "env > " + folder.path("seen") + "\necho fake\n");
  HostCompilerOptions options = compiler_options();
  options.cxx = folder.path("cxx");
  options.environment = {"LD_LIBRARY_PATH=/opt/lib", "LD_PRELOAD=/nowhere.so", "LC_ALL=de_DE.UTF-8",
                         "DEPENDENCIES_OUTPUT=" + folder.path("deps")};
  ASSERT_NE(HostCompiler(options).info(), nullptr);
  const std::string seen = read_text(folder.path("seen"));
  EXPECT_NE(seen.find("LD_LIBRARY_PATH=/opt/lib\n"), std::string::npos) << seen;
  EXPECT_NE(seen.find("LC_ALL=C\n"), std::string::npos) << seen;
  EXPECT_EQ(seen.find("LD_PRELOAD"), std::string::npos) << seen;
  EXPECT_EQ(seen.find("DEPENDENCIES_OUTPUT"), std::string::npos) << seen;
}

TEST(JitHostCompiler, AHangingCompilerIsStopped) {
  const Folder folder;
  HostCompilerOptions options = compiler_options();
  options.cxx = write_script(folder.path("cxx"),
                             "[ \"$1\" = --version ] && echo fake && exit 0\nsleep 300\n");
  options.timeout = std::chrono::milliseconds(200);
  HostCompiler compiler(options);
  ASSERT_NE(compiler.info(), nullptr);
  const CompileResult result = compiler.compile("", kAnswer, {});
  EXPECT_TRUE(result.transient);
  EXPECT_EQ(result.error, "host compiler " + options.cxx + " took too long and was stopped");
}

TEST(JitHostCompiler, WithoutALinkerTheCompilerLinks) {
  const Folder folder;
  HostCompilerOptions options = compiler_options();
  const std::string real = HostCompiler(options).info()->program;
  options.cxx = real;
  options.search_path = folder.path();
  for (const char* tool : {"as", "ld"}) {
    fs::create_symlink(fmt::format("/usr/bin/{}", tool), folder.path(tool));
  }
  write_script(folder.path("broken-ld"), "exit 1\n");
  for (const bool broken : {false, true}) {
    // Not found, or found and failing: the driver then looks for its own linker.
    fs::remove(folder.path("ld"));
    if (broken) fs::create_symlink(folder.path("broken-ld"), folder.path("ld"));
    options.environment = {"COMPILER_PATH=/usr/bin"};
    HostCompiler compiler(options);
    ASSERT_NE(compiler.info(), nullptr) << compiler.missing();
    EXPECT_EQ(compiler.info()->linker.empty(), !broken);
    const CompileResult result = compiler.compile("", kAnswer, {});
    EXPECT_EQ(result.error, "");
    EXPECT_TRUE(is_elf(result.object));
  }
}

TEST(JitHostCompiler, IgnoredChildSignalsAndClosedStandardStreams) {
  Child child([]() -> std::string {
    signal(SIGCHLD, SIG_IGN);
    for (int fd = 0; fd < 3; ++fd) close(fd);
    HostCompiler compiler(compiler_options());
    const CompileResult good = compiler.compile("", kAnswer, {});
    if (!good.error.empty()) return good.error;
    std::string error;
    if (!Module::load(good.object, {}, error)) return error;
    return compiler.compile("", "nonsense", {}).error.empty() ? "nonsense compiles" : "";
  });
  EXPECT_EQ(child.report(), "");
}

TEST(JitElf, UndefinedSymbolsOfDamagedObjects) {
  EXPECT_TRUE(undefined_symbols(as_bytes("")).empty());
  EXPECT_TRUE(undefined_symbols(as_bytes("\x7f"
                                         "ELF and no more"))
                  .empty());
  // This program has section headers; cut anywhere, reading it stays inside its bytes.
  const std::string program = read_text("/proc/self/exe");
  for (std::size_t size = 0; size < program.size(); size += 1 + program.size() / 200) {
    undefined_symbols(as_bytes(std::string_view(program).substr(0, size)));
  }
  std::string broken = program.substr(0, 4096);
  for (std::size_t i = 16; i < 64; ++i) {
    std::string changed = broken;
    changed[i] = static_cast<char>(0xff);
    undefined_symbols(as_bytes(changed));
  }
}

}  // namespace
}  // namespace ingot::jit::testing
