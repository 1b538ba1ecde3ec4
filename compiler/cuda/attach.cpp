#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include <ingot/compiler/codegen/cuda.h>
#include <ingot/compiler/cuda/attach.h>
#include <ingot/compiler/cuda/cubin_cache.h>
#include <ingot/compiler/kernel_batch.h>
#include <ingot/kernels/cuda/device.h>
#include <ingot/runtime/env.h>
#include <ingot/runtime/observer.h>

namespace ingot {

namespace compiler {

namespace {

// Never destroyed: plans in static storage may hold kernels until the very end.
CubinCache& cubin_cache(bool disk) {
  const auto make = [](bool with_disk) {
    jit::DiskCacheOptions options;
    if (with_disk) options.folder = kernel_env().cache_dir;
    options.setting = "INGOT_CACHE_DIR";
    options.log = [seen = std::set<std::string>{}](std::string_view text) mutable {
      if (seen.emplace(text).second) {
        std::fprintf(stderr, "ingot: %.*s\n", static_cast<int>(text.size()), text.data());
      }
    };
    return new CubinCache(std::move(options), kCudaGeneratorVersion, kernel_env().dump_dir,
                          kernel_env().library_path);
  };
  static auto* with_disk = make(true);
  if (disk) return *with_disk;
  static auto* memory_only = make(false);
  return *memory_only;
}

const std::shared_ptr<const jit::Prelude>& prelude_of(const GeneratedCudaStep& step) {
  using Prelude = GeneratedCudaStep::Prelude;
  if (step.prelude() == Prelude::products) {
    static const auto products = std::make_shared<const jit::Prelude>(jit::kCudaProductText);
    return products;
  }
  if (step.prelude() == Prelude::rows) {
    static const auto rows = std::make_shared<const jit::Prelude>(jit::kCudaRowsText);
    return rows;
  }
  static const auto elements = std::make_shared<const jit::Prelude>(jit::kCudaText);
  return elements;
}

int architecture_of(Device device) {
  const cuda::DeviceProperties& p = cuda::properties(device.index());
  return p.major * 10 + p.minor;
}

}  // namespace

void compile_cuda_kernels(const std::vector<jit::KernelSource>& units, int architecture,
                          bool disk_cache) {
  (void)cubin_cache(disk_cache).get_many(units, architecture);
}

void attach_cuda_kernels(const std::vector<GeneratedCudaStep*>& steps, bool disk_cache,
                         KernelBatch* batch, PlanReport* report) {
  warn_of_late_changes();
  jit::Stopwatch watch;
  std::map<int, std::vector<GeneratedCudaStep*>> by_architecture;
  for (GeneratedCudaStep* step : steps)
    by_architecture[architecture_of(step->device())].push_back(step);
  for (auto& [architecture, group] : by_architecture) {
    std::vector<jit::KernelSource> units;
    {
      ScopedEvent event({.kind = EventKind::compile, .name = "codegen"});
      for (const GeneratedCudaStep* step : group) {
        units.push_back({prelude_of(*step), step->source()});
        report->sources.push_back(units.back().body);
      }
    }
    report->phases.push_back({"codegen", watch.lap()});
    if (batch != nullptr) {
      batch->add_cuda(std::move(units), architecture, disk_cache);
      continue;
    }
    std::vector<CubinResult> results;
    {
      ScopedEvent event({.kind = EventKind::compile, .name = "load"});
      results = cubin_cache(disk_cache).get_many(units, architecture);
    }
    const double wall = watch.lap();
    double compile = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const CubinResult& r = results[i];
      compile = std::max(compile, r.compile_ms);
      CUkern_st* kernel = r.module == nullptr ? nullptr : r.module->find("ingot_run");
      if (kernel == nullptr) {
        report->not_fused.push_back({"kernel of " + group[i]->names() +
                                     " runs op by op: " + r.error.substr(0, r.error.find('\n'))});
        continue;
      }
      report->compiles += r.origin == jit::KernelOrigin::kCompiled ? 1 : 0;
      report->disk_hits += r.origin == jit::KernelOrigin::kDisk ? 1 : 0;
      report->memory_hits += r.origin == jit::KernelOrigin::kMemory ? 1 : 0;
      group[i]->set_kernel(kernel, r.module);
    }
    report->phases.push_back({"compile", std::min(compile, wall)});
    report->phases.push_back({"load", wall - std::min(compile, wall)});
  }
}

}  // namespace compiler
}  // namespace ingot
