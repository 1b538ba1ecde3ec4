#include <ostream>

#include <fmt/format.h>

#include <ingot/compiler/ledger.h>
#include <ingot/kernels/core/text.h>

namespace ingot {

const char* name(Numerics level) { return level == Numerics::library ? "library" : "exact"; }

namespace {

std::string number(const std::optional<double>& v, const char* unit = "") {
  return v ? fmt::format("{:.3g}{}", *v, unit) : "-";
}

// Three digits and the unit that suits them.
std::string duration(double ns) {
  if (ns < 999.5) return fmt::format("{:.3g} ns", ns);
  if (ns < 999.5e3) return fmt::format("{:.3g} us", ns / 1e3);
  if (ns < 999.5e6) return fmt::format("{:.3g} ms", ns / 1e6);
  return fmt::format("{:.3g} s", ns / 1e9);
}

std::string spread(const Spread& s, double ns_of_unit) {
  return s.n == 0 ? "-"
                  : fmt::format("{} (p95 {}, n {})", duration(s.median * ns_of_unit),
                                duration(s.p95 * ns_of_unit), s.n);
}

void events(std::string& out, const char* title, const std::vector<Ledger::Event>& list) {
  if (list.empty()) return;
  out += fmt::format("  {}\n", title);
  for (const Ledger::Event& e : list) {
    out += fmt::format("    {} (at {}){}\n", e.what, to_string(e.where),
                       e.count > 1 ? fmt::format(", {} times", e.count) : "");
  }
}

std::string quoted(const std::string& text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string json_number(const std::optional<double>& v) {
  return v ? fmt::format("{:.9g}", *v) : "null";
}

std::string json_spread(const Spread& s) {
  return s.n == 0 ? "null"
                  : fmt::format("{{\"median\": {:.9g}, \"p95\": {:.9g}, \"n\": {}}}", s.median,
                                s.p95, s.n);
}

std::string json_events(const std::vector<Ledger::Event>& list) {
  std::string out = "[";
  for (const Ledger::Event& e : list) {
    out +=
        fmt::format("{}{{\"what\": {}, \"where\": {}, \"count\": {}}}", out.size() > 1 ? ", " : "",
                    quoted(e.what), quoted(to_string(e.where)), e.count);
  }
  return out + "]";
}

}  // namespace

std::string Ledger::table() const {
  std::string out = fmt::format("ledger of {}\n", name);
  out += fmt::format("  calls {}, hits {}, recorded paths {}, numerics {}\n", calls, hits, variants,
                     ingot::name(numerics));
  if (unrecorded > 0) {
    out += fmt::format("  calls that matched no path and were not recorded: {}\n", unrecorded);
  }
  if (!limit.empty()) out += fmt::format("  limit: {}\n", limit);
  std::string phases;
  double total = 0;
  for (const Phase& p : first_call) {
    phases += fmt::format("{}{} {:.3g}", phases.empty() ? "" : ", ", p.name, p.ms);
    total += p.ms;
  }
  out += first_call.empty() ? "  first call: -\n"
                            : fmt::format("  first call: {:.3g} ms ({})\n", total, phases);
  out += fmt::format("  kernels: {} compiled, {} from disk, {} from memory\n", compiles, disk_hits,
                     memory_hits);
  out +=
      fmt::format("  launches: eager {}, compiled {}; {} bytes not moved a call, arena {} bytes\n",
                  launches_eager, launches_compiled, bytes_saved, arena_bytes);
  if (graphs.recorded > 0) {
    out += fmt::format(
        "  CUDA graphs: {} recorded, {} launches, {} of them with new parameters{}\n",
        graphs.recorded, graphs.launches, graphs.updates,
        graphs.dropped == 0 ? "" : fmt::format("; {} dropped when memory ran out", graphs.dropped));
  }
  out += fmt::format("  replay: {}\n", spread(replay_ns, 1));
  out += fmt::format("  a call: eager {}, compiled {}, speedup {}\n", spread(eager_us, 1e3),
                     spread(compiled_us, 1e3), number(speedup, "x"));
  out += fmt::format("  calls to break even: empty cache {}, disk cache {}, kernel known {}\n",
                     number(break_even_calls.empty_cache), number(break_even_calls.disk_cache),
                     number(break_even_calls.kernel_known));
  events(out, "misses", misses);
  events(out, "cuts", cuts);
  events(out, "fused", fused);
  events(out, "not fused", not_fused);
  events(out, "relaxed", relaxed);
  return out;
}

std::string Ledger::json() const {
  std::string phases;
  for (const Phase& p : first_call) {
    phases += fmt::format("{}{}: {:.9g}", phases.empty() ? "" : ", ", quoted(p.name), p.ms);
  }
  return fmt::format(
      "{{\"name\": {}, \"numerics\": \"{}\", \"calls\": {}, \"hits\": {}, \"variants\": {}, "
      "\"unrecorded\": {}, \"limit\": {}, \"compiles\": {}, "
      "\"memory_hits\": {}, \"disk_hits\": {}, \"launches_eager\": {}, \"launches_compiled\": {}, "
      "\"bytes_saved\": {}, \"arena_bytes\": {}, \"graphs\": {{\"recorded\": {}, \"launches\": {}, "
      "\"updates\": {}, \"dropped\": {}}}, \"first_call_ms\": {{{}}}, \"replay_ns\": {}, "
      "\"eager_us\": {}, \"compiled_us\": {}, \"speedup\": {}, \"break_even_calls\": "
      "{{\"empty_cache\": {}, \"disk_cache\": {}, \"kernel_known\": {}}}, \"misses\": {}, "
      "\"cuts\": {}, \"fused\": {}, \"not_fused\": {}, \"relaxed\": {}}}",
      quoted(name), ingot::name(numerics), calls, hits, variants, unrecorded,
      limit.empty() ? "null" : quoted(limit), compiles, memory_hits, disk_hits, launches_eager,
      launches_compiled, bytes_saved, arena_bytes, graphs.recorded, graphs.launches, graphs.updates,
      graphs.dropped, phases, json_spread(replay_ns), json_spread(eager_us),
      json_spread(compiled_us), json_number(speedup), json_number(break_even_calls.empty_cache),
      json_number(break_even_calls.disk_cache), json_number(break_even_calls.kernel_known),
      json_events(misses), json_events(cuts), json_events(fused), json_events(not_fused),
      json_events(relaxed));
}

std::ostream& operator<<(std::ostream& out, const Ledger& ledger) { return out << ledger.table(); }

}  // namespace ingot
