#include "report.h"

#include <algorithm>
#include <cstdio>

#include "support/json.h"

using namespace ingot;

namespace {

template <class... A>
std::string text(const char* format, A... args) {
  char line[200];
  std::snprintf(line, sizeof line, format, args...);
  return line;
}

// Three significant digits, whatever the magnitude.
std::string number(double v) { return text("%.*f", v < 10 ? 2 : v < 100 ? 1 : 0, v); }

std::string time(double us) {
  return us < 1e3   ? number(us) + " us"
         : us < 1e6 ? number(us / 1e3) + " ms"
                    : number(us / 1e6) + " s";
}

std::string break_even(const Row& row) {
  if (row.is_slower()) return "never";
  const std::optional<double> calls = row.ledger->break_even_calls.kernel_known;
  return calls ? text("%.0f", std::max(1.0, *calls)) : "-";
}

void print_row(const Row& row, bool on_gpu) {
  const std::string verdict = to_string(row.warm.verdict.kind);
  const std::string launches = row.launches ? std::to_string(*row.launches) : "-";
  std::string of_compiling[] = {"-", "-", "-"};
  if (row.compiled) {
    const Spread& guard = row.ledger->replay_ns;
    if (guard.n > 0) of_compiling[0] = text("%.0f", guard.median);
    of_compiling[1] = text("%.2fx", *row.speedup);
    of_compiling[2] = break_even(row);
  }
  const std::string call = on_gpu ? text(" %10s", time(row.call_us).c_str()) : "";
  std::printf("%5s  %-8s %10s%s %10s %8s %10s %8s %8s %10s  %s\n",
              row.compiled ? "" : text("%lld", static_cast<long long>(row.n)).c_str(),
              row.compiled ? "compiled" : "eager", time(row.host_us).c_str(), call.c_str(),
              time(row.device_us).c_str(), launches.c_str(), time(row.first_call_ms * 1000).c_str(),
              of_compiling[0].c_str(), of_compiling[1].c_str(), of_compiling[2].c_str(),
              verdict.c_str());
}

void print_window(const std::string& n, const std::string& mode, const char* start,
                  const Window& w) {
  const double cpu_over_device = w.self_device_us > 0 ? w.self_cpu_us / w.self_device_us : 0;
  const std::string ratio = cpu_over_device < 0.01 ? "< 0.01" : number(cpu_over_device);
  std::printf("%5s  %-8s  %-5s %15s %18s %11s  %s\n", n.c_str(), mode.c_str(), start,
              time(w.self_cpu_us).c_str(), time(w.self_device_us).c_str(), ratio.c_str(),
              to_string(w.verdict.kind));
}

double overhead_us(const Row& row) { return row.warm.self_cpu_us / Window::kCalls; }

void print_overheads(const std::vector<Pair>& pairs) {
  std::printf("\nHost overhead of a warm call (Self CPU / %d), compiled over eager:\n",
              Window::kCalls);
  for (const Pair& pair : pairs) {
    const double eager = overhead_us(pair.eager), compiled = overhead_us(pair.compiled);
    std::printf("  n = %lld: %s / %s = %s\n", static_cast<long long>(pair.eager.n),
                time(compiled).c_str(), time(eager).c_str(), number(compiled / eager).c_str());
  }
}

void print_reading(const Row& row) {
  const profiler::Verdict& v = row.warm.verdict;
  std::printf("  n = %lld, %s: %s: %s.\n    Next: %s\n", static_cast<long long>(row.n),
              row.compiled ? "compiled" : "eager", to_string(v.kind), v.why.c_str(),
              v.next.c_str());
}

examples::JsonObject json_of(const Row& row, const Setup& setup) {
  std::optional<examples::JsonObject> phases, break_even_calls;
  std::optional<double> guard_ns;
  if (row.ledger) {
    phases.emplace();
    for (const Ledger::Phase& phase : row.ledger->first_call) phases->add(phase.name, phase.ms);
    const Ledger::BreakEven& calls = row.ledger->break_even_calls;
    break_even_calls.emplace();
    break_even_calls->add("empty_cache", calls.empty_cache)
        .add("disk_cache", calls.disk_cache)
        .add("kernel_known", calls.kernel_known);
    if (row.ledger->replay_ns.n > 0) guard_ns = row.ledger->replay_ns.median;
  }
  examples::JsonObject object;
  object.add("n", row.n)
      .add("mode", row.compiled ? "compiled" : "eager")
      .add("device", setup.device.str())
      .add("dtype", setup.dtype_name())
      .add("host_us", row.host_us)
      .add("call_us", row.call_us)
      .add("device_us", row.device_us)
      .add("launches", row.launches)
      .add("first_call_ms", row.first_call_ms)
      .add("phases_ms", phases)
      .add("guard_ns", guard_ns)
      .add("speedup", row.speedup)
      .add("break_even_calls", break_even_calls)
      .add("verdict", to_string(row.warm.verdict.kind));
  return object;
}

}  // namespace

void print_heading(const Setup& setup) {
  std::printf("%s\n\n", build_info().c_str());
  std::printf(
      "matmul(x, w) + b, all n x n, %s on %s, %d threads. Medians; eager and compiled in "
      "turn.\n\n",
      setup.dtype_name(), setup.device.str().c_str(), num_threads());
  std::printf("%5s  %-8s %10s%s %10s %8s %10s %8s %8s %10s  %s\n", "n", "mode", "host",
              setup.device.is_cuda() ? "       call" : "", "bodies", "launches", "first call",
              "guard ns", "speedup", "break even", "verdict");
}

void print_pair(const Pair& pair, const Setup& setup) {
  print_row(pair.eager, setup.device.is_cuda());
  print_row(pair.compiled, setup.device.is_cuda());
  std::fflush(stdout);
}

void print_legend(const Setup& setup) {
  std::printf(
      "%s",
      setup.device.is_cuda()
          ? "\n"
            "  host        one call until it returns: it has given its work to the GPU\n"
            "  call        one call until that work is done, of calls in a row; the speedup is "
            "of these\n"
            "  bodies      the time in which its kernels ran on the GPU, as recorded there\n"
          : "\n"
            "  host        one call, from the caller's side, kernel bodies included\n"
            "  bodies      the part of it in which kernels compute; launches says how many "
            "there are\n");
  std::printf(
      "  guard ns    a replayed call until its plan starts: the function's own host work, and the\n"
      "              proof that it does what was recorded\n"
      "  break even  calls until the saving has paid for building the plan; never: none is "
      "saved\n");
}

void print_profiles(const std::vector<Pair>& pairs) {
  std::printf(
      "\nWhere the time goes, in %d calls: the first ones (cold), and %d after wait 1, warmup 1 "
      "(warm).\n",
      Window::kCalls, Window::kCalls);
  std::printf(
      "Self CPU includes the recorder's own cost. The verdict leaves it out and goes call by "
      "call: two of\nthree decide.\n\n");
  std::printf("%5s  %-8s  %-5s %15s %18s %11s  %s\n", "n", "mode", "start", "Self CPU total",
              "Self device total", "CPU/device", "verdict");
  for (const Pair& pair : pairs) {
    print_window(text("%lld", static_cast<long long>(pair.eager.n)), "eager", "cold",
                 pair.eager.cold);
    print_window("", "", "warm", pair.eager.warm);
    print_window("", "compiled", "cold", pair.compiled.cold);
    print_window("", "", "warm", pair.compiled.warm);
  }
  print_overheads(pairs);
  std::printf("\nWhat the profiler makes of the warm calls:\n");
  for (const Pair& pair : pairs) {
    print_reading(pair.eager);
    if (pair.compiled.warm.verdict.kind != pair.eager.warm.verdict.kind) {
      print_reading(pair.compiled);
    }
  }
}

void print_conclusion(const std::vector<Pair>& pairs) {
  std::string faster, slower, same;
  for (const Pair& pair : pairs) {
    const Row& row = pair.compiled;
    std::string& sizes = row.is_faster() ? faster : row.is_slower() ? slower : same;
    sizes += text(sizes.empty() ? "%lld" : ", %lld", static_cast<long long>(row.n));
  }
  std::printf("\nCompiled against eager, decided by three rounds of four:\n");
  const auto line = [](const char* what, const std::string& sizes) {
    if (!sizes.empty()) std::printf("  %-10s n = %s\n", what, sizes.c_str());
  };
  line("faster", faster);
  line("no verdict", same);
  line("slower", slower);
}

std::string to_json(const std::vector<Pair>& pairs, const Setup& setup) {
  std::vector<examples::JsonObject> rows;
  for (const Pair& pair : pairs) {
    rows.push_back(json_of(pair.eager, setup));
    rows.push_back(json_of(pair.compiled, setup));
  }
  return examples::json(rows);
}
