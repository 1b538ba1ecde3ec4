#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <string_view>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/threads.h>
#include <ingot/runtime/env.h>

extern char** environ;

namespace ingot {

const std::vector<EnvVariable>& env_variables() {
  static const std::vector<EnvVariable> table = {
      {"INGOT_CACHE_DIR", "folder of the kernel cache"},
      {"INGOT_COMPILE", "0 runs compiled functions eagerly"},
      {"INGOT_CXX", "host compiler for generated kernels; \"none\" forbids one"},
      {"INGOT_DETECT_ANOMALY", "1 finds the op that makes the first NaN; inf: or infinity"},
      {"INGOT_DEVICE", "where tensors are made when the program does not say: cpu, cuda, cuda:1"},
      {"INGOT_DISABLE", "list of fusion, epilogue, codegen, disk_cache, cuda_graph"},
      {"INGOT_DUMP", "folder for the source of generated kernels"},
      {"INGOT_ISA", "base, v3 or v4: the highest instruction set level to use"},
      {"INGOT_THREADS", "threads of the pool"},
      {"INGOT_VERIFY", "1 compares every compiled result with eager's, bit for bit"},
  };
  return table;
}

namespace {

std::string value_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

// What was read of each variable.
struct Seen {
  std::mutex mutex;
  std::map<std::string, std::string, std::less<>> values;
};
Seen& seen() {
  static auto* all = new Seen;
  return *all;
}

std::string text(const char* variable) {
  std::string value = value_of(variable);
  Seen& all = seen();
  const std::lock_guard lock(all.mutex);
  all.values[variable] = value;
  return value;
}

bool flag(const char* variable, bool otherwise) {
  std::string value = text(variable);
  if (value.empty()) return otherwise;
  INGOT_CHECK(value == "0" || value == "1", "{}={} is neither 0 nor 1", variable, value);
  return value == "1";
}

std::vector<std::string> list(const char* variable, std::span<const std::string_view> known) {
  std::vector<std::string> items;
  std::string rest = text(variable);
  for (bool more = !rest.empty(); more;) {
    const auto comma = rest.find(',');
    more = comma != std::string::npos;
    std::string item = rest.substr(0, comma);
    rest = more ? rest.substr(comma + 1) : "";
    bool ok = false;
    std::string words;
    for (std::string_view k : known) {
      ok |= item == k;
      words.append(words.empty() ? "" : ", ").append(k);
    }
    INGOT_CHECK(ok, "{}: \"{}\" is none of {} (separated by commas, no spaces)", variable, item,
                words);
    items.push_back(item);
  }
  return items;
}

int number(const char* variable) {
  std::string value = text(variable);
  if (value.empty()) return 0;
  char* end = nullptr;
  long n = std::strtol(value.c_str(), &end, 10);
  INGOT_CHECK(*end == 0 && n >= 1 && n <= kMaxThreads,
              "{}={} is not a number of threads from 1 to {}", variable, value, kMaxThreads);
  return static_cast<int>(n);
}

std::string default_cache_dir() {
  std::string base = text("XDG_CACHE_HOME");
  if (!base.empty()) return base + "/ingot";
  base = text("HOME");
  return base.empty() ? "" : base + "/.cache/ingot";
}

void warn_of_unknown_names() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "INGOT_", 6) != 0) continue;
    std::string_view pair = *entry;
    std::string_view key = pair.substr(0, pair.find('='));
    bool known = false;
    for (const EnvVariable& v : env_variables()) known |= key == v.name;
    if (!known) {
      std::fprintf(stderr, "ingot: the environment variable %.*s is not known\n",
                   static_cast<int>(key.size()), key.data());
    }
  }
}

Env read() {
  warn_of_unknown_names();
  Env e;
  if (const std::string device = text("INGOT_DEVICE"); !device.empty()) {
    try {
      e.device = Device(device);
    } catch (const Error&) {
      detail::fail<Error>("INGOT_DEVICE={} is none of cpu, cuda, cuda:0 ... cuda:99", device);
    }
  }
  if (const std::string find = text("INGOT_DETECT_ANOMALY"); find != "0") {
    INGOT_CHECK(find.empty() || find == "1" || find == "inf",
                "INGOT_DETECT_ANOMALY={} is none of 0, 1, inf", find);
    e.detect_anomaly = find;
  }
  e.disable = list("INGOT_DISABLE", kDisableNames);
  e.isa = text("INGOT_ISA");
  INGOT_CHECK(e.isa.empty() || e.isa == "base" || e.isa == "v3" || e.isa == "v4",
              "INGOT_ISA={} is none of base, v3, v4", e.isa);
  e.verify = flag("INGOT_VERIFY", false);
  e.compile = flag("INGOT_COMPILE", true);
  e.threads = number("INGOT_THREADS");
  return e;
}

}  // namespace

bool Env::disables(std::string_view what) const {
  return std::find(disable.begin(), disable.end(), what) != disable.end();
}

const Env& env() {
  static const Env e = read();
  return e;
}

const KernelEnv& kernel_env() {
  static const KernelEnv e = [] {
    KernelEnv k{text("INGOT_CACHE_DIR"), text("INGOT_CXX"), text("INGOT_DUMP"), text("PATH"),
                text("LD_LIBRARY_PATH")};
    if (k.cache_dir.empty()) k.cache_dir = default_cache_dir();
    return k;
  }();
  return e;
}

void warn_of_late_changes() {
  Seen& all = seen();
  const std::lock_guard lock(all.mutex);
  for (auto& [variable, value] : all.values) {
    if (!variable.starts_with("INGOT_")) continue;
    std::string now = value_of(variable.c_str());
    if (now == value) continue;
    std::fprintf(stderr,
                 "ingot: %s is now \"%s\", which is too late: it was \"%s\" when it was first "
                 "needed, and that stays\n",
                 variable.c_str(), now.c_str(), value.c_str());
    value = std::move(now);
  }
}

}  // namespace ingot
