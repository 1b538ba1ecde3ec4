// Averages as text: the table that people read, CSV and JSON that programs read.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include <ingot/kernels/core/check_at.h>
#include <ingot/kernels/core/text.h>
#include <ingot/profiler/aggregate.h>
#include <ingot/profiler/json.h>
#include <ingot/profiler/record.h>
#include <ingot/profiler/units.h>

namespace ingot::profiler {
namespace {

constexpr std::size_t kWidestName = 55, kWidestText = 80;

struct SortKey {
  const char* name;
  double (*value)(const Row&);
};

double per_call(double total, const Row& row) {
  return row.calls > 0 ? total / static_cast<double>(row.calls) : 0;
}

// PyTorch's keys, then ours. Names that say cuda mean the device that the table shows.
constexpr SortKey kSortKeys[] = {
    {"self_cpu_time_total", [](const Row& r) { return r.self_cpu_us; }},
    {"cpu_time_total", [](const Row& r) { return r.cpu_total_us; }},
    {"cpu_time", [](const Row& r) { return per_call(r.cpu_total_us, r); }},
    {"self_device_time_total", [](const Row& r) { return r.self_device_us; }},
    {"device_time_total", [](const Row& r) { return r.device_total_us; }},
    {"device_time", [](const Row& r) { return per_call(r.device_total_us, r); }},
    {"self_cuda_time_total", [](const Row& r) { return r.self_device_us; }},
    {"cuda_time_total", [](const Row& r) { return r.device_total_us; }},
    {"cuda_time", [](const Row& r) { return per_call(r.device_total_us, r); }},
    {"cpu_memory_usage", [](const Row& r) { return static_cast<double>(r.memory); }},
    {"self_cpu_memory_usage", [](const Row& r) { return static_cast<double>(r.self_memory); }},
    {"cuda_memory_usage", [](const Row& r) { return static_cast<double>(r.gpu_memory); }},
    {"self_cuda_memory_usage", [](const Row& r) { return static_cast<double>(r.self_gpu_memory); }},
    {"count", [](const Row& r) { return static_cast<double>(r.calls); }},
    {"flops", [](const Row& r) { return r.flops; }},
    {"cpu_time_median", [](const Row& r) { return r.median_us; }},
    {"cpu_time_p95", [](const Row& r) { return r.p95_us; }},
};

std::vector<Row> sorted(std::vector<Row> rows, const std::string& sort_by, Loc loc) {
  if (sort_by == "name") {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.name < b.name; });
    return rows;
  }
  const std::string wanted = sort_by.empty() ? "self_cpu_time_total" : sort_by;
  const auto* key = std::find_if(std::begin(kSortKeys), std::end(kSortKeys),
                                 [&](const SortKey& k) { return wanted == k.name; });
  if (key == std::end(kSortKeys)) {
    std::string known = "name";
    for (const SortKey& k : kSortKeys) known += std::string(", ") + k.name;
    ingot::detail::fail_at<Error>("table", loc, "cannot sort by '{}'; the keys are {}", sort_by,
                                  known);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const Row& a, const Row& b) { return key->value(a) > key->value(b); });
  return rows;
}

std::optional<double> rate(double amount, const Row& row) {
  if (row.cost_us <= 0) return {};
  return amount / row.cost_us / 1e3;  // per us to 10^9 per s
}

std::optional<double> roofline_share(const Row& row) {
  if (row.cost_us <= 0 || row.roofline_us <= 0) return {};
  return 100 * row.roofline_us / row.cost_us;
}

struct Column {
  std::string head;
  bool left = false;
  std::vector<std::string> cells;
};

class TableText {
 public:
  explicit TableText(std::vector<Row> rows) : rows_(std::move(rows)) {}

  template <class F>
  void column(std::string head, F&& cell, bool left = false) {
    Column c{std::move(head), left, {}};
    for (const Row& row : rows_) c.cells.push_back(cell(row));
    columns_.push_back(std::move(c));
  }

  std::string text() const {
    std::string rule, head, body;
    std::vector<std::size_t> widths;
    for (const Column& c : columns_) {
      std::size_t width = display_width(c.head);
      for (const std::string& cell : c.cells) width = std::max(width, display_width(cell));
      widths.push_back(width);
      rule += std::string(width, '-') + "  ";
      head += aligned(c.head, width, c.left) + "  ";
    }
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        body += aligned(columns_[i].cells[r], widths[i], columns_[i].left) + "  ";
      }
      body += "\n";
    }
    return rule + "\n" + head + "\n" + rule + "\n" + body + rule + "\n";
  }

 private:
  static std::string aligned(const std::string& cell, std::size_t width, bool left) {
    std::string pad(width - std::min(width, display_width(cell)), ' ');
    return left ? cell + pad : pad + cell;
  }
  std::vector<Row> rows_;
  std::vector<Column> columns_;
};

std::string footer(const Averages::Data& d) {
  auto out = std::string();
  auto line = [&]<class... A>(fmt::format_string<A...> text, A&&... a) {
    fmt::format_to(std::back_inserter(out), text, std::forward<A>(a)...);
    out += '\n';
  };
  const char* device = d.on_gpu ? "CUDA" : "device";
  line("Self CPU time total: {}", format_us(d.self_host_us));
  line("Self {} time total: {}{}", device, format_us(d.self_device_us),
       d.on_gpu ? "" : " (kernel bodies on the CPU)");
  std::string ratio =
      d.self_device_us > 0 ? fmt::format("{:.2f}", d.self_host_us / d.self_device_us) : "-";
  std::string steps =
      d.steps > 0 ? fmt::format(", {} step{}", d.steps, d.steps == 1 ? "" : "s") : "";
  line("Self CPU / Self {}: {}; device busy {:.1f} % of {}{}", device, ratio, 100 * d.device_busy,
       format_us(d.window_us), steps);
  for (const std::string& text : d.gpu_lines) line("{}", text);
  if (!d.first_steps.empty()) line("Compile phases: {}", d.first_steps);
  if (!d.gpu_first_steps.empty()) line("First steps: {}", d.gpu_first_steps);
  line(
      "Observer: {:.0f} ns per event, {} in all, part of Self CPU; an event without work lasts "
      "{:.0f} ns",
      d.event_cost_ns, format_us(d.event_cost_ns * static_cast<double>(d.events) / 1e3),
      d.empty_event_ns);
  if (d.dropped > 0) {
    line("Dropped: {} events of {} (the latest; Options::max_bytes is spent)", d.dropped,
         d.events + d.dropped);
  } else {
    line("Dropped: 0 events of {}", d.events);
  }
  if (!d.roofline.empty()) {
    line("Roofline: {}; above 100 %: operands were in a cache", d.roofline);
  }
  return out;
}

// What ran on the GPU by its own names, whichever op launched it.
std::string kernel_list(const Averages::Data& d) {
  constexpr std::size_t kShown = 10, kWidth = 100;
  if (d.kernels.empty() || d.kernels.front().name.empty()) return "";
  std::string out = "Kernels, copies and sets on the GPU:\n";
  for (std::size_t i = 0; i < std::min(kShown, d.kernels.size()); ++i) {
    const KernelTotal& k = d.kernels[i];
    fmt::format_to(std::back_inserter(out), "  {:>12} {:>8} {:>6} x {:>12} (least {})  {}\n",
                   format_us(k.total_us), percent(k.total_us, d.self_device_us), k.runs,
                   format_us(k.total_us / static_cast<double>(k.runs)), format_us(k.least_us),
                   shorten(one_line(k.name), kWidth));
  }
  if (d.kernels.size() > kShown) {
    out += fmt::format("  ({} more)\n", d.kernels.size() - kShown);
  }
  return out;
}

std::string csv_cell(const std::string& any) {
  const std::string text = valid_utf8(any);
  if (text.find_first_of("\",\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string Averages::table(const TableOptions& options, Loc loc) const {
  const Data& d = *data_;
  std::vector<Row> rows = sorted(d.rows, options.sort_by, loc);
  std::size_t all = rows.size();
  if (options.row_limit >= 0 && rows.size() > static_cast<std::size_t>(options.row_limit)) {
    rows.resize(static_cast<std::size_t>(options.row_limit));
  }
  std::size_t shown = rows.size();
  auto any = [&](auto&& holds) { return std::any_of(rows.begin(), rows.end(), holds); };
  bool with_fused = any([](const Row& r) { return !r.fused_from.empty(); });
  bool with_cost = any([](const Row& r) { return r.cost_us > 0; });

  TableText t(std::move(rows));
  // Kernel bodies on the CPU are part of their ops' CPU totals; a GPU's work runs beside them.
  double both = d.on_gpu ? d.self_host_us : d.self_host_us + d.self_device_us;
  t.column(
      "Name", [](const Row& r) { return shorten(one_line(r.name), kWidestName); }, true);
  t.column("Self CPU %", [&](const Row& r) { return percent(r.self_cpu_us, d.self_host_us); });
  t.column("Self CPU", [](const Row& r) { return format_us(r.self_cpu_us); });
  t.column("CPU total %", [&](const Row& r) {
    return r.beside > 0 ? std::string("-") : percent(r.cpu_total_us, both);
  });
  t.column("CPU total", [](const Row& r) { return format_us(r.cpu_total_us); });
  t.column("CPU time avg", [](const Row& r) { return format_us(per_call(r.cpu_total_us, r)); });
  t.column("median", [](const Row& r) { return format_us(r.median_us); });
  t.column("p95", [](const Row& r) { return format_us(r.p95_us); });
  const std::string device = d.on_gpu ? "CUDA" : "device";
  t.column("Self " + device, [](const Row& r) { return format_us(r.self_device_us); });
  t.column("Self " + device + " %",
           [&](const Row& r) { return percent(r.self_device_us, d.self_device_us); });
  t.column(device + " total", [](const Row& r) { return format_us(r.device_total_us); });
  t.column(device + " time avg",
           [](const Row& r) { return format_us(per_call(r.device_total_us, r)); });
  if (d.on_gpu) {
    t.column("launch delay", [](const Row& r) {
      return r.launch_delay_us > 0 ? format_us(r.launch_delay_us) : std::string("-");
    });
  }
  if (d.with_memory) {
    t.column("CPU Mem", [](const Row& r) { return format_bytes(r.memory); });
    t.column("Self CPU Mem", [](const Row& r) { return format_bytes(r.self_memory); });
    if (d.on_gpu) {
      t.column("CUDA Mem", [](const Row& r) { return format_bytes(r.gpu_memory); });
      t.column("Self CUDA Mem", [](const Row& r) { return format_bytes(r.self_gpu_memory); });
    }
  }
  t.column("# of Calls", [](const Row& r) { return std::to_string(r.calls); });
  if (with_cost) {
    t.column("Total MFLOPs", [](const Row& r) {
      return r.cost_us > 0 ? fmt::format("{:.3f}", r.flops / 1e6) : std::string("-");
    });
    t.column("GFLOP/s", [](const Row& r) { return number_or_dash(rate(r.flops, r)); });
    t.column("GB/s", [](const Row& r) { return number_or_dash(rate(r.bytes, r)); });
    t.column("% roofline", [](const Row& r) { return number_or_dash(roofline_share(r)); });
  }
  auto text_of = [](std::string Row::*text) {
    return [text](const Row& r) { return shorten(one_line(r.*text), kWidestText); };
  };
  if (d.with_shapes) t.column("Input Shapes", text_of(&Row::shapes), true);
  if (d.with_stack) t.column("Source Location", text_of(&Row::source), true);
  if (with_fused) t.column("Fused from", text_of(&Row::fused_from), true);

  std::string out;
#ifndef __OPTIMIZE__
  out += "Unoptimised build of Ingot: host times are not representative.\n";
#endif
  out += t.text();
  if (shown < all) out += fmt::format("({} more rows)\n", all - shown);
  return out + footer(d) + kernel_list(d);
}

std::string Averages::csv() const {
  std::string out =
      "name,count,self_cpu_time_total,cpu_time_total,self_device_time_total,device_time_total,"
      "median,p95,flops,bytes,cost_time,roofline_time,cpu_memory_usage,self_cpu_memory_usage,"
      "input_shapes,source_location,fused_from,gpu_work,launch_delay,"
      "cuda_memory_usage,self_cuda_memory_usage\n";
  for (const Row& r : data_->rows) {
    fmt::format_to(std::back_inserter(out),
                   "{},{},{:.3f},{:.3f},{:.3f},{:.3f},{:.3f},{:.3f},{:.0f},{:.0f},{:.3f},{:.3f},{},"
                   "{},{},{},{},{},{:.3f},{},{}\n",
                   csv_cell(r.name), r.calls, r.self_cpu_us, r.cpu_total_us, r.self_device_us,
                   r.device_total_us, r.median_us, r.p95_us, r.flops, r.bytes, r.cost_us,
                   r.roofline_us, r.memory, r.self_memory, csv_cell(r.shapes), csv_cell(r.source),
                   csv_cell(r.fused_from), r.gpu_work, r.launch_delay_us, r.gpu_memory,
                   r.self_gpu_memory);
  }
  return out;
}

std::string Averages::json() const {
  const Data& d = *data_;
  std::string out;
  JsonWriter w(out);
  w.open_object();
  w.member("self_cpu_time_total", d.self_host_us);
  w.member("self_device_time_total", d.self_device_us);
  w.member("device_busy", d.device_busy).member("window", d.window_us);
  w.member("steps", d.steps).member("events", d.events).member("dropped", d.dropped);
  w.member("observer_ns_per_event", d.event_cost_ns).member("roofline", d.roofline);
  w.member("gpu", d.gpu_source);
  w.key("rows").open_array();
  for (const Row& r : d.rows) {
    w.line_break();
    w.open_object();
    w.member("name", r.name).member("count", r.calls).member("beside", r.beside);
    w.member("self_cpu_time_total", r.self_cpu_us).member("cpu_time_total", r.cpu_total_us);
    w.member("self_device_time_total", r.self_device_us);
    w.member("device_time_total", r.device_total_us);
    w.member("median", r.median_us).member("p95", r.p95_us);
    w.member("flops", r.flops).member("bytes", r.bytes);
    w.member("cost_time", r.cost_us).member("roofline_time", r.roofline_us);
    w.member("cpu_memory_usage", r.memory).member("self_cpu_memory_usage", r.self_memory);
    w.member("cuda_memory_usage", r.gpu_memory);
    w.member("self_cuda_memory_usage", r.self_gpu_memory);
    w.member("input_shapes", r.shapes).member("source_location", r.source);
    w.member("fused_from", r.fused_from).member("gpu_work", r.gpu_work);
    w.member("launch_delay", r.launch_delay_us).close_object();
  }
  w.close_array();
  if (!d.kernels.empty()) {
    w.key("kernels").open_array();
    for (const KernelTotal& k : d.kernels) {
      w.line_break();
      w.open_object().member("name", k.name).member("count", k.runs);
      w.member("total", k.total_us).member("least", k.least_us).close_object();
    }
    w.close_array();
  }
  w.close_object();
  return out + "\n";
}

const std::vector<Row>& Averages::rows() const& { return data_->rows; }
std::vector<Row> Averages::rows() && { return data_->rows; }
double Averages::self_cpu_us() const { return data_->self_host_us; }
double Averages::self_device_us() const { return data_->self_device_us; }
double Averages::device_busy() const { return data_->device_busy; }
bool Averages::on_gpu() const { return data_->on_gpu; }
std::string Averages::gpu_source() const { return data_->gpu_source; }

std::optional<Row> Averages::find(const std::string& name) const {
  const std::string recorded = recorded_text(name);
  for (const std::string* wanted : {&name, &recorded}) {
    for (const Row& row : data_->rows) {
      if (row.name == *wanted) return row;
    }
  }
  return {};
}

}  // namespace ingot::profiler
