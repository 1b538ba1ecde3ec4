#include <cstdio>
#include <set>

#include <ingot/compiler/codegen/codegen.h>
#include <ingot/compiler/jit/kernel_cache.h>
#include <ingot/compiler/kernel_batch.h>
#include <ingot/compiler/kernels.h>
#include <ingot/kernels/cpu/isa_level.h>
#include <ingot/runtime/env.h>
#include <ingot/runtime/observer.h>

namespace ingot {

namespace compiler {

namespace {

jit::KernelCacheOptions cache_options(bool disk) {
  jit::KernelCacheOptions o;
  if (disk) o.disk.folder = kernel_env().cache_dir;
  o.compiler.cxx = kernel_env().cxx;
  o.compiler.search_path = kernel_env().path;
  o.generator_version = kGeneratorVersion;
  o.dump_folder = kernel_env().dump_dir;
  // Each sentence once: a folder that cannot be used is no news the second time.
  o.log = [seen = std::set<std::string>{}](std::string_view text) mutable {
    if (seen.emplace(text).second) {
      std::fprintf(stderr, "ingot: %.*s\n", static_cast<int>(text.size()), text.data());
    }
  };
  o.disk.log = o.log;
  o.disk.setting = "INGOT_CACHE_DIR";
  return o;
}

// Never destroyed: plans in static storage may hold kernels until the very end.
jit::KernelCache& kernel_cache(bool disk) {
  static auto* with_disk = new jit::KernelCache(cache_options(true));
  if (disk) return *with_disk;
  static auto* memory_only = new jit::KernelCache(cache_options(false));
  return *memory_only;
}

const std::shared_ptr<const jit::Prelude>& prelude_of(const GeneratedStep& step) {
  if (step.needs_row_formulas()) {
    static const auto rows = std::make_shared<const jit::Prelude>(jit::kRowsText);
    return rows;
  }
  static const auto elements = std::make_shared<const jit::Prelude>(jit::kOpsText);
  return elements;
}

jit::KernelOptions level_options() { return {level_flags(), std::string(isa_features())}; }

}  // namespace

void compile_kernels(std::vector<jit::KernelRequest> requests, bool disk_cache) {
  (void)kernel_cache(disk_cache).get_many(std::move(requests));
}

RowLoopResult compile_row_loop(std::string body) {
  static const auto prelude = std::make_shared<const jit::Prelude>(jit::kLoopText);
  const jit::KernelResult r =
      kernel_cache(true).get({prelude, std::move(body)}, "ingot_run", level_options());
  if (r.kernel == nullptr) return {nullptr, nullptr, r.error};
  return {reinterpret_cast<LoopFn>(r.kernel->as<void()>()), r.kernel, {}};
}

void attach_kernels(const Segment& segment, const std::vector<GeneratedStep*>& all, bool disk_cache,
                    KernelBatch* batch, PlanReport* report) {
  warn_of_late_changes();
  const auto apart = [&](const GeneratedStep& step, const std::string& why) {
    report->not_fused.push_back(
        {"kernel of " + step.names() + " runs tile by tile: " + why.substr(0, why.find('\n')),
         step.loc()});
  };
  std::vector<GeneratedStep*> steps;
  for (GeneratedStep* step : all) {
    step->refusal().empty() ? steps.push_back(step) : apart(*step, step->refusal());
  }
  jit::Stopwatch watch;
  std::vector<jit::KernelRequest> requests;
  {
    ScopedEvent event({.kind = EventKind::compile, .name = "codegen"});
    for (const GeneratedStep* step : steps) {
      std::string body = step->source(segment);
      report->sources.push_back(body);
      requests.push_back({{prelude_of(*step), std::move(body), {"ingot_run", "user"}},
                          "ingot_run",
                          level_options()});
    }
  }
  report->phases.push_back({"codegen", watch.lap()});
  if (batch != nullptr) {
    batch->add(std::move(requests), disk_cache);
    return;
  }
  std::vector<jit::KernelResult> results;
  {
    // The compiler's own time is an event inside this one, on the thread that waits for it.
    ScopedEvent event({.kind = EventKind::compile, .name = "load"});
    results = kernel_cache(disk_cache).get_many(std::move(requests));
  }
  double wall = watch.lap(), compile = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const jit::KernelResult& r = results[i];
    compile = std::max(compile, r.ms.compile + r.ms.link);
    if (r.kernel == nullptr) {
      apart(*steps[i], r.error);
      continue;
    }
    report->compiles += r.origin == jit::KernelOrigin::kCompiled ? 1 : 0;
    report->disk_hits += r.origin == jit::KernelOrigin::kDisk ? 1 : 0;
    report->memory_hits += r.origin == jit::KernelOrigin::kMemory ? 1 : 0;
    steps[i]->set_kernel(r.kernel->as<void()>(), r.kernel);
  }
  // Kernels compile side by side: the phase is the longest, the rest of the wait is "load".
  report->phases.push_back({"compile", std::min(compile, wall)});
  report->phases.push_back({"load", wall - std::min(compile, wall)});
}

}  // namespace compiler
}  // namespace ingot
