// The lines below a table: what only first calls paid, what a GPU did and how well it was recorded.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ingot/profiler/aggregate.h>

namespace ingot::profiler {
namespace {

double in_us(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

// The host's time by name, "codegen 1.200 ms, load 0.300 ms", of slices that `picks` names.
template <class F>
std::string phases(const Timeline& timeline, F&& picks) {
  std::vector<std::pair<std::string_view, std::int64_t>> sums;
  for (const Lane& lane : timeline.lanes) {
    for (const Slice& s : lane.slices) {
      if (!picks(s)) continue;
      auto sum =
          std::find_if(sums.begin(), sums.end(), [&](const auto& p) { return p.first == s.name; });
      if (sum == sums.end()) sum = sums.insert(sum, {s.name, 0});
      sum->second += s.self;
    }
  }
  std::string text;
  for (auto [name, ns] : sums) {
    text += fmt::format("{}{} {:.3f} ms", text.empty() ? "" : ", ", name,
                        static_cast<double>(ns) / 1e6);
  }
  return text;
}

bool pays_once(const Slice& s) {
  if (s.kind == SliceKind::setup) return true;
  if (s.kind != SliceKind::api) return false;
  for (const char* part : {"Malloc", "MemAlloc", "HostAlloc", "ModuleLoad", "LibraryLoad",
                           "GraphInstantiate", "StreamCreate"}) {
    if (s.name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

std::vector<KernelTotal> kernel_totals(const Timeline& timeline) {
  std::unordered_map<std::string_view, KernelTotal> by_name;
  for (const GpuWork& w : timeline.gpu.work) {
    KernelTotal& k = by_name[w.name];
    const double duration = in_us(w.end - w.begin);
    k.least_us = k.runs == 0 ? duration : std::min(k.least_us, duration);
    k.total_us += duration;
    ++k.runs;
  }
  std::vector<KernelTotal> list;
  for (auto& [name, total] : by_name) {
    total.name = name;
    list.push_back(std::move(total));
  }
  std::sort(list.begin(), list.end(), [](const KernelTotal& a, const KernelTotal& b) {
    return a.total_us != b.total_us ? a.total_us > b.total_us : a.name < b.name;
  });
  return list;
}

std::vector<std::string> gpu_lines(const GpuTimeline& gpu) {
  std::vector<std::string> lines;
  const LaunchCount& n = gpu.count;
  lines.push_back(
      fmt::format("GPU: {}{}{}", gpu.source, gpu.reason.empty() ? "" : "; no CUPTI: ", gpu.reason));
  if (!gpu.reason.empty()) {
    lines.push_back(
        "  times by events hold the gaps between kernels of one launch, and those that "
        "the host leaves while it launches");
  }
  if (n.launched > 0 || n.dropped_graphs > 0) {
    std::string text = fmt::format("Launched {}", n.launched);
    if (n.dropped_graphs > 0) {
      text += fmt::format(" and the nodes of {} dropped graph launch{}", n.dropped_graphs,
                          n.dropped_graphs == 1 ? "" : "es");
    }
    text += fmt::format(": {} recorded, {} dropped", n.recorded, n.dropped);
    if (n.dropped_graphs == 0 && n.missing() != 0) {
      text += fmt::format("; THE COUNTS DIFFER by {}", n.missing());
    }
    if (n.graphs > 0) {
      text += fmt::format("; {} graph launch{}", n.graphs, n.graphs == 1 ? "" : "es");
      if (n.misfits > 0) {
        text += fmt::format(", {} of them with other nodes than their ops have", n.misfits);
      }
    }
    if (n.unlinked > 0) text += fmt::format("; {} pieces of work of no recorded op", n.unlinked);
    lines.push_back(std::move(text));
  } else {
    lines.push_back(fmt::format("Recorded {} launches, dropped {}", gpu.work.size(), n.dropped));
  }
  if (gpu.dropped_other > 0) {
    lines.push_back(
        fmt::format("Dropped beside them: {} records of calls and links", gpu.dropped_other));
  }
  if (gpu.without_times > 0) {
    lines.push_back(fmt::format("{} record{} without times dropped (0, or an end before the begin)",
                                gpu.without_times, gpu.without_times == 1 ? "" : "s"));
  }
  if (gpu.pair_width > 0) {
    std::string text = fmt::format(
        "Clocks: host and GPU compared to {} ns, apart by {} ns more at "
        "the end than at the start",
        gpu.pair_width, gpu.drift);
    if (n.too_early > 0) {
      text += fmt::format("; {} launches began on the GPU before their call", n.too_early);
    }
    lines.push_back(std::move(text));
  }
  if (const LaunchCost& cost = gpu.launch_cost; cost.kernel > 0) {
    lines.push_back(
        fmt::format("Observing costs the launching thread {:.0f} ns a kernel, {:.0f} ns "
                    "a graph and {:.0f} ns for each of its nodes (measured with empty "
                    "kernels), part of Self CPU",
                    cost.kernel, cost.graph, cost.graph_node));
  }
  return lines;
}

std::string loading(const GpuTimeline& gpu) {
  std::vector<std::pair<std::string_view, std::int64_t>> sums;
  for (const GpuOverhead& o : gpu.overheads) {
    auto sum =
        std::find_if(sums.begin(), sums.end(), [&](const auto& p) { return p.first == o.name; });
    if (sum == sums.end()) sum = sums.insert(sum, {o.name, 0});
    sum->second += o.end - o.begin;
  }
  std::string text;
  for (auto [name, ns] : sums) {
    text += fmt::format("{}{} {:.3f} ms", text.empty() ? "" : ", ", name,
                        static_cast<double>(ns) / 1e6);
  }
  return text;
}

}  // namespace

void add_first_steps(const Timeline& timeline, Averages::Data& data) {
  data.first_steps = phases(timeline, [](const Slice& s) { return s.kind == SliceKind::compile; });
  data.gpu_first_steps = phases(timeline, pays_once);
  const std::string load = loading(timeline.gpu);
  if (!load.empty()) {
    data.gpu_first_steps += (data.gpu_first_steps.empty() ? "" : "; ") + load;
  }
}

void add_gpu(const Timeline& timeline, Averages::Data& data) {
  data.gpu_source = timeline.gpu.source;
  data.on_gpu = timeline.on_gpu();
  if (!timeline.gpu.recorded()) {
    if (launches_unseen(timeline)) {
      data.gpu_lines = {
          "GPU: not recorded, what launches took there is unknown; ask for "
          "Activity::CUDA, or begin the session once a tensor is on the GPU"};
    }
    return;
  }
  data.gpu_lines = gpu_lines(timeline.gpu);
  data.kernels = kernel_totals(timeline);
}

}  // namespace ingot::profiler
