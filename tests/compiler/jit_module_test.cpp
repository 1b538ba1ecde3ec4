// Loading machine code from bytes: names, lifetimes, places that forbid execution.
#include <cstring>
#include <memory>

#include <ingot/compiler/jit/files.h>
#include <ingot/compiler/jit/host_compiler.h>
#include <ingot/compiler/jit/module.h>

#include "jit_support.h"

namespace ingot::jit::testing {
namespace {

constexpr int kMarker = 0x5eedcafe;

// int value(): returns the number that stands in the object's data, where a test can change it.
const Bytes& object_with_marker() {
  static const Bytes object = [] {
    HostCompiler compiler(compiler_options());
    CompileResult result =
        compiler.compile("",
                         fmt::format("extern \"C\" {{ extern const volatile int marker; }}\n"
                                     "const volatile int marker = {};\n"
                                     "extern \"C\" int value() {{ return marker; }}\n",
                                     kMarker),
                         {});
    EXPECT_EQ(result.error, "");
    return result.object;
  }();
  return object;
}

Bytes object_returning(int value) {
  Bytes object = object_with_marker();
  int changed = 0;
  for (std::size_t i = 0; i + sizeof(int) <= object.size(); ++i) {
    if (std::memcmp(object.data() + i, &kMarker, sizeof(int)) != 0) continue;
    std::memcpy(object.data() + i, &value, sizeof(int));
    ++changed;
  }
  EXPECT_EQ(changed, 1);
  return object;
}

int value_of(const std::shared_ptr<const Module>& module) {
  void* address = module ? module->find("value") : nullptr;
  return address ? reinterpret_cast<int (*)()>(address)() : -1;
}

int mapped_kernels() {
  const std::string maps = read_text("/proc/self/maps");
  int count = 0;
  for (std::size_t at = 0; (at = maps.find("ingot-kernel", at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(JitModule, EqualSymbolsOfManyModulesStayApart) {
  // Descriptors and their paths are used again; each module must still be its own.
  std::vector<std::shared_ptr<const Module>> modules;
  std::string error;
  for (int i = 0; i < 40; ++i) {
    modules.push_back(Module::load(object_returning(i), {}, error));
    ASSERT_TRUE(modules.back()) << error;
    if (i % 3 == 2) modules.erase(modules.end() - 2);
  }
  int last = -1;
  for (const auto& module : modules) {
    EXPECT_GT(value_of(module), last);
    last = value_of(module);
  }
  EXPECT_EQ(last, 39);
  EXPECT_EQ(modules.front()->find("no_such_symbol"), nullptr);
}

TEST(JitModule, UnloadsWithItsLastOwner) {
  const int before = mapped_kernels();
  std::string error;
  auto module = Module::load(object_returning(1), {}, error);
  ASSERT_TRUE(module) << error;
  auto second = module;
  EXPECT_GT(mapped_kernels(), before);
  module.reset();
  EXPECT_EQ(value_of(second), 1);
  second.reset();
  EXPECT_EQ(mapped_kernels(), before);
}

// Inline data of templates has one address per process in ordinary libraries: with a unique
// binding the second module would read the first one's table.
TEST(JitModule, InlineDataIsNotShared) {
  HostCompiler compiler(compiler_options());
  const auto load = [&](int number) {
    const CompileResult result = compiler.compile(
        "",
        fmt::format("template <class T> struct Table {{ static T cells[2]; }};\n"
                    "template <class T> T Table<T>::cells[2] = {{T({}), T(7)}};\n"
                    "extern \"C\" int cell(long i) {{ return Table<int>::cells[i]; }}\n",
                    number),
        {});
    std::string error;
    auto module = Module::load(result.object, {}, error);
    EXPECT_TRUE(module) << result.error << error;
    return module;
  };
  const int before = mapped_kernels();
  auto first = load(1), second = load(2);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(reinterpret_cast<int (*)(long)>(first->find("cell"))(0), 1);
  EXPECT_EQ(reinterpret_cast<int (*)(long)>(second->find("cell"))(0), 2);
  first.reset();
  second.reset();
  EXPECT_EQ(mapped_kernels(), before) << "a unique symbol keeps its module loaded";
}

TEST(JitModule, BytesThatAreNoModule) {
  std::string whole(as_text(object_with_marker()));
  for (const std::string& bad : {std::string(), std::string("text"), whole.substr(0, 64),
                                 "\x7f"
                                 "ELF" +
                                     std::string(500, '\0')}) {
    std::string error;
    EXPECT_EQ(Module::load(as_bytes(bad), {}, error), nullptr);
    EXPECT_TRUE(error.starts_with("kernel cannot be loaded (from memory: ")) << error;
  }
  // The image of another machine.
  Bytes other = object_with_marker();
  other[18] = static_cast<unsigned char>(other[18] ^ 0x55);
  std::string error;
  EXPECT_EQ(Module::load(other, {}, error), nullptr);
}

TEST(JitModule, FromAFolder) {
  const Folder folder;
  std::string error;
  const auto module = Module::load(object_returning(3), {false, {folder.path()}}, error);
  EXPECT_EQ(value_of(module), 3) << error;
  EXPECT_TRUE(names_in(folder.path()).empty());
  EXPECT_EQ(Module::load(object_with_marker(), {false, {}}, error), nullptr);
  EXPECT_EQ(Module::load(object_with_marker(), {false, {folder.path("gone")}}, error), nullptr);
  EXPECT_NE(error.find("No such file or directory"), std::string::npos) << error;
}

TEST(JitModule, FoldersThatForbidExecutionArePassedOver) {
  const Folder forbidden, allowed;
  const Bytes object = object_returning(4);
  Child child([&]() -> std::string {
    if (!mount_private(forbidden.path(), MS_NOEXEC, "size=1m")) return "skip";
    if (!unlinked_file(forbidden.path())) return "cannot write: " + errno_text(errno);
    std::string error;
    if (Module::load(object, {false, {forbidden.path()}}, error)) return "noexec has no effect";
    if (!error.starts_with("kernel cannot be loaded (from " + forbidden.path() + ": "))
      return error;
    const auto module = Module::load(object, {false, {forbidden.path(), allowed.path()}}, error);
    if (value_of(module) != 4) return "no way around: " + error;
    if (!names_in(forbidden.path()).empty()) return "a file was left behind";
    return "";
  });
  const std::string report = child.report();
  if (report == "skip") GTEST_SKIP() << "this process may not mount a file system";
  EXPECT_EQ(report, "");
}

}  // namespace
}  // namespace ingot::jit::testing
