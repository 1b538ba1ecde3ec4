#include <atomic>

#include <ingot/kernels/cpu/isa_level.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <ingot/kernels/core/check.h>

namespace ingot {
namespace {

constexpr IsaLevel kLevels[] = {IsaLevel::base, IsaLevel::v3, IsaLevel::v4};
constexpr std::string_view kNames[] = {"base", "x86-64-v3", "x86-64-v4"};

constexpr int index(IsaLevel level) { return static_cast<int>(level); }

// The build names the levels whose objects are in the library.
constexpr bool is_built(IsaLevel level) {
#if defined(INGOT_HAVE_ISA_BASE) || defined(INGOT_HAVE_ISA_V3) || defined(INGOT_HAVE_ISA_V4)
  bool built[3] = {};
#if defined(INGOT_HAVE_ISA_BASE)
  built[0] = true;
#endif
#if defined(INGOT_HAVE_ISA_V3)
  built[1] = true;
#endif
#if defined(INGOT_HAVE_ISA_V4)
  built[2] = true;
#endif
  return built[index(level)];
#else
  return level == IsaLevel::base;
#endif
}

constexpr int kUndecided = -1;
std::atomic<int> g_cap{index(IsaLevel::v4)};
std::atomic<int> g_level{kUndecided};

IsaLevel level_under(IsaLevel cap) {
  const IsaLevel detected = detected_isa_level();
  for (int i = 2; i >= 0; --i) {
    if (is_built(kLevels[i]) && kLevels[i] <= detected && kLevels[i] <= cap) return kLevels[i];
  }
  throw Error(fmt::format("this library holds no kernels for {} (CPU: {}, cap: {})",
                          isa_name(std::min(detected, cap)), isa_name(detected), isa_name(cap)));
}

}  // namespace

IsaLevel detected_isa_level() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  // The psABI's list; these three are in no compiler's __builtin_cpu_supports that we support.
  unsigned a = 0, b = 0, c = 0, d = 0, extended = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return IsaLevel::base;
  const bool movbe_f16c = (c & bit_MOVBE) != 0 && (c & bit_F16C) != 0;
  if (!__get_cpuid(0x80000001u, &a, &b, &extended, &d)) return IsaLevel::base;
  const bool lzcnt = (extended & (1u << 5)) != 0;
  const bool v3 = movbe_f16c && lzcnt && __builtin_cpu_supports("avx2") &&
                  __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                  __builtin_cpu_supports("bmi2");
  if (!v3) return IsaLevel::base;
  const bool v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v4 ? IsaLevel::v4 : IsaLevel::v3;
#else
  return IsaLevel::base;
#endif
}

IsaLevel isa_level() {
  int level = g_level.load(std::memory_order_relaxed);
  if (level == kUndecided) {
    const int chosen = index(level_under(kLevels[g_cap.load()]));
    level = g_level.compare_exchange_strong(level, chosen) ? chosen : level;
  }
  return kLevels[level];
}

void set_isa_cap(IsaLevel cap) {
  const int level = g_level.load();
  INGOT_CHECK(level == kUndecided || index(level_under(cap)) == level,
              "set_isa_cap: {} comes too late, kernels already run at {}", isa_name(cap),
              isa_name(kLevels[level]));
  g_cap.store(index(cap));
}

std::string_view isa_name(IsaLevel level) { return kNames[index(level)]; }

IsaLevel isa_from_name(std::string_view name) {
  for (const IsaLevel level : kLevels) {
    const std::string_view full = isa_name(level);
    if (name == full || (level != IsaLevel::base && name == full.substr(full.size() - 2))) {
      return level;
    }
  }
  throw Error(fmt::format("unknown instruction set level '{}': base, v3 or v4", name));
}

std::string isa_features() {
  constexpr std::string_view kV3 = "avx avx2 bmi bmi2 f16c fma lzcnt movbe";
  const IsaLevel level = isa_level();
  std::string text(isa_name(level));
  text += ':';
  switch (level) {
    case IsaLevel::v4:
      return text.append(" ").append(kV3).append(" avx512f avx512bw avx512cd avx512dq avx512vl");
    case IsaLevel::v3:
      return text.append(" ").append(kV3);
    case IsaLevel::base:
      break;
  }
    // Base is what the compiler was told to target, the same for this unit and the kernels.
#if defined(__x86_64__)
  text += " x86-64";
#elif defined(__aarch64__)
  text += " aarch64";
#endif
#if defined(__SSE4_2__)
  text += " sse4.2";
#endif
#if defined(__AVX__)
  text += " avx";
#endif
#if defined(__AVX2__)
  text += " avx2";
#endif
#if defined(__FMA__)
  text += " fma";
#endif
#if defined(__AVX512F__)
  text += " avx512f";
#endif
  return text;
}

}  // namespace ingot
