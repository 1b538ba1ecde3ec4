#include <algorithm>
#include <array>
#include <cerrno>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ingot/compiler/jit/elf.h>
#include <ingot/compiler/jit/files.h>
#include <ingot/compiler/jit/host_compiler.h>
#include <ingot/compiler/jit/process.h>

namespace ingot::jit {
namespace {

constexpr std::size_t kMessageLimit = 4000;  // bytes of the compiler's lines in an error
constexpr std::size_t kReadLimit = std::size_t{1} << 30;
// The children's descriptors: the two outputs, and what the linker is told to keep.
constexpr int kObject = 3, kShared = 4, kScript = 5;

std::string text_of(int fd, std::size_t limit = kReadLimit) {
  const std::optional<Bytes> bytes = read_all(fd, kReadLimit);
  std::string text(bytes ? as_text(*bytes) : std::string_view());
  if (text.size() > limit) text = text.substr(0, text.rfind('\n', limit)) + "\n...";
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

// When somebody else took the status, what the program left behind decides: an assembler makes a
// good file of nothing after a failed compiler, which has then said so.
bool succeeded(const Ending& ending, int output, int messages) {
  if (ending.kind != Ending::kUnknown) return ending.ok();
  const std::optional<Bytes> bytes = read_all(output, kReadLimit);
  return bytes && is_elf(*bytes) && text_of(messages).find("error") == std::string::npos;
}

// The driver reports a killed or starved child by status 1 and a line of text.
bool is_transient(const Ending& ending, std::string_view messages) {
  if (ending.kind != Ending::kExited) return true;
  constexpr std::array<std::string_view, 7> signs = {"Killed signal",
                                                     "memory exhausted",
                                                     "Cannot allocate memory",
                                                     "out of memory",
                                                     "No space left on device",
                                                     "File size limit",
                                                     "Resource temporarily unavailable"};
  return std::any_of(signs.begin(), signs.end(), [&](std::string_view sign) {
    return messages.find(sign) != std::string_view::npos;
  });
}

CompileResult failure(std::string error, bool transient) {
  CompileResult result;
  result.error = std::move(error);
  result.transient = transient;
  return result;
}

}  // namespace

HostCompiler::HostCompiler(HostCompilerOptions options, DiskCache* records)
    : options_(std::move(options)), finder_(options_, records) {}

const std::vector<std::string>& HostCompiler::base_flags() {
#if defined(__x86_64__)
  constexpr const char* kProtection = "-fcf-protection=none";
#else
  constexpr const char* kProtection = "-fno-stack-protector";
#endif
  static const std::vector<std::string> flags = {
      "-std=c++20", "-O3", "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno", "-fwrapv",
      "-fPIC", "-fno-exceptions", "-fno-rtti", "-fno-semantic-interposition",
      // Distributions switch these on; a kernel calls nothing that they could guard.
      "-fno-stack-protector", kProtection,
      // The unit is whole: without folders to search, nothing outside the key can reach it.
      "-nostdinc", "-w", "-pipe"};
  return flags;
}

CompileResult HostCompiler::compile(std::string_view prelude, std::string_view body,
                                    const std::vector<std::string>& flags) {
  const CompilerInfo* compiler = info();
  if (compiler == nullptr) return failure(missing(), false);
  CompileResult result;
  const UniqueFd object = compile_object(*compiler, prelude, body, flags, result);
  if (object) link(*compiler, object.get(), {}, result);
  return result;
}

std::vector<CompileResult> HostCompiler::compile_together(std::string_view prelude,
                                                          const std::vector<UnitPart>& parts,
                                                          const std::vector<std::string>& flags) {
  std::vector<CompileResult> results(parts.size());
  const CompilerInfo* compiler = info();
  if (parts.empty()) return results;
  if (compiler == nullptr) {
    results.assign(parts.size(), failure(missing(), false));
    return results;
  }
  // Each part's names get its number.
  std::string unit;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const std::string& name : parts[i].names) {
      unit += fmt::format("#define {0} {0}_{1}\n", name, i);
    }
    unit += fmt::format("{}\n", parts[i].body);
    for (const std::string& name : parts[i].names) unit += fmt::format("#undef {}\n", name);
  }
  std::vector<std::string> all_flags = flags;
  all_flags.insert(all_flags.end(), {"-ffunction-sections", "-fdata-sections"});
  const UniqueFd object = compile_object(*compiler, prelude, unit, all_flags, results[0]);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (object) {
      const std::string& name = parts[i].names.front();
      link(*compiler, object.get(), {fmt::format("{}_{}", name, i), name}, results[i]);
    } else if (i > 0) {
      results[i] = failure(results[0].error, results[0].transient);
    }
  }
  return results;
}

UniqueFd HostCompiler::compile_object(const CompilerInfo& compiler, std::string_view prelude,
                                      std::string_view body, const std::vector<std::string>& flags,
                                      CompileResult& result) const {
  const UniqueFd source = anonymous_file(options_.dump_folder);
  const UniqueFd messages = anonymous_file(options_.dump_folder);
  UniqueFd object = anonymous_file(options_.dump_folder);
  int error = source && messages && object ? 0 : errno;
  if (error == 0) error = write_all(source.get(), as_bytes(prelude));
  if (error == 0) error = write_all(source.get(), as_bytes(body));
  if (error == 0 && lseek(source.get(), 0, SEEK_SET) != 0) error = errno;
  if (error != 0) {
    result = failure(
        fmt::format("host compiler: no room for the source text ({})", errno_text(error)), true);
    return {};
  }

  Stopwatch clock;
  Command command = command_for(compiler);
  for (const auto* list : {&base_flags(), &flags}) {
    command.arguments.insert(command.arguments.end(), list->begin(), list->end());
  }
  // g++ would bind inline data once per process: a second kernel would read the first one's.
  if (!compiler.is_clang) command.arguments.emplace_back("-fno-gnu-unique");
  const std::string output = path_of_fd(kObject);
  for (const char* word : {"-c", "-x", "c++", "-", "-o", output.c_str()}) {
    command.arguments.emplace_back(word);
  }
  command.descriptors = {source.get(), -1, messages.get(), object.get()};
  const Ending ending = run_command(command);
  result.compile_ms = clock.lap();
  if (succeeded(ending, object.get(), messages.get())) return object;
  const std::string lines = text_of(messages.get(), kMessageLimit);
  result.transient = is_transient(ending, text_of(messages.get()));
  result.error = fmt::format("host compiler {} {}{}{}", compiler.program, ending.text(),
                             result.transient ? std::string() : keep_source(prelude, body),
                             lines.empty() ? "" : "\n" + lines);
  return {};
}

void HostCompiler::link(const CompilerInfo& compiler, int object, const Kept& kept,
                        CompileResult& result) const {
  constexpr std::array<std::string_view, 4> always_there = {"memcpy", "memmove", "memset",
                                                            "memcmp"};
  const Stopwatch clock;
  const std::optional<Bytes> bytes = read_all(object, kReadLimit);
  bool with_libm = false;
  for (const std::string& name : undefined_symbols(bytes ? ByteView(*bytes) : ByteView())) {
    with_libm |= std::find(always_there.begin(), always_there.end(), name) == always_there.end();
  }
  // Own symbols are never taken from others.
  std::vector<std::string> words = {"-Bsymbolic"};
  UniqueFd script;
  if (!kept.function.empty()) {
    // Only the function under its own name is visible; what it does not reach is dropped.
    script = anonymous_file(options_.dump_folder);
    const std::string text = fmt::format("{{ global: {}; local: *; }};\n", kept.called);
    if (!script || write_all(script.get(), as_bytes(text)) != 0) {
      result = failure(fmt::format("host compiler: no room for the kernel ({})", errno_text(errno)),
                       true);
      return;
    }
    for (const std::string& word :
         {std::string("--gc-sections"), fmt::format("--undefined={}", kept.function),
          fmt::format("--defsym={}={}", kept.called, kept.function),
          "--version-script=" + path_of_fd(kScript)}) {
      words.push_back(word);
    }
  }
  Command driver = command_for(compiler);
  driver.arguments.insert(driver.arguments.end(), {"-shared", "-nostdlib"});
  for (const std::string& word : words) driver.arguments.push_back("-Wl," + word);
  Command linker = command_for(compiler);
  linker.program = compiler.linker;
  // noseparate-code: one segment less to map, a third of the size.
  linker.arguments = {
      "-shared", "--eh-frame-hdr", "--hash-style=gnu", "--build-id=none", "-z", "noseparate-code",
      "-z",      "noexecstack"};
  linker.arguments.insert(linker.arguments.end(), words.begin(), words.end());
  // The driver's own way to the linker costs as much again as the linker, so it comes second.
  const LinkInput input{object, script ? script.get() : -1, with_libm};
  const bool linked = !compiler.linker.empty() && link_with(std::move(linker), input, result);
  if (!linked) link_with(std::move(driver), input, result);
  result.link_ms = clock.ms();
}

bool HostCompiler::link_with(Command command, const LinkInput& input, CompileResult& result) const {
  const UniqueFd shared = anonymous_file(options_.dump_folder);
  const UniqueFd messages = anonymous_file(options_.dump_folder);
  if (!shared || !messages) {
    result.error = fmt::format("host compiler: no room for the kernel ({})", errno_text(errno));
    result.transient = true;
    return false;
  }
  for (const std::string& word : {std::string("-o"), path_of_fd(kShared), path_of_fd(kObject)}) {
    command.arguments.push_back(word);
  }
  if (input.with_libm) command.arguments.emplace_back("-lm");
  command.descriptors = {-1, -1, messages.get(), input.object, shared.get()};
  if (input.script >= 0) command.descriptors.push_back(input.script);
  const Ending ending = run_command(command);
  const std::string lines = text_of(messages.get(), kMessageLimit);
  if (succeeded(ending, shared.get(), messages.get())) {
    result.object = read_all(shared.get(), kReadLimit).value_or(Bytes());
  }
  const bool linked = is_elf(result.object);
  result.transient = !linked && is_transient(ending, lines);
  result.error = linked ? ""
                        : fmt::format("linker {} {}{}", command.program, ending.text(),
                                      lines.empty() ? "" : "\n" + lines);
  return linked;
}

Command HostCompiler::command_for(const CompilerInfo& compiler) const {
  Command command;
  command.program = compiler.program;
  command.arguments = compiler.leading;
  command.environment = finder_.environment();
  command.timeout = options_.timeout;
  return command;
}

// The part of a sentence that says where the source was kept; empty if it could not be.
std::string HostCompiler::keep_source(std::string_view prelude, std::string_view body) const {
  if (options_.dump_folder.empty()) return {};
  const Digest digest = Sha256().update(prelude).update(body).digest();
  const std::string path =
      fmt::format("{}/failed-{}.cpp", options_.dump_folder, to_hex(digest).substr(0, 16));
  const int error = write_file(path, {as_bytes(prelude), as_bytes(body)});
  return error == 0 ? fmt::format(" (source: {})", path) : std::string();
}

}  // namespace ingot::jit
