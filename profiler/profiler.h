// The public profiler: a session records what ops, kernels, compile phases and named ranges do, and
// answers with tables, a verdict and traces.
// Owns: Session, Schedule, record_function. One session at a time records, all threads of the
// process. Costs nothing while no session records (one relaxed load per event). Must not know:
// tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ingot/kernels/core/error.h>
#include <ingot/profiler/averages.h>
#include <ingot/profiler/verdict.h>

namespace ingot::profiler {

enum class Activity { CPU, CUDA };

// As torch.profiler.schedule: after skip_first steps, cycles of wait, warmup and active steps;
// repeat = 0 is for ever. skip_first_wait leaves out the first cycle's wait. Warm-up steps are
// recorded and thrown away, so that the recorder's own first costs are paid.
struct Schedule {
  int wait = 1, warmup = 1, active = 3, repeat = 1, skip_first = 0;
  bool skip_first_wait = false;
};

// What a session does during a step; record_and_save is the last step of a cycle.
enum class Action { none, warmup, record, record_and_save };
Action action_at(const Schedule& schedule, std::int64_t step);

// What the machine can do at best; given, or found once when first needed. The CPU (measured, under
// 50 ms, all cores): bytes by copying with memcpy (read and written bytes count), FLOP/s by a loop
// of f32 multiply-adds. A GPU: bytes by copies on the device (measured, some 20 ms), FLOP/s by its
// clock and the units that its compute capability has; products of other dtypes have units of
// their own (0: as f32).
struct Roofline {
  double bytes_per_s = 0, flops_per_s = 0;
  std::string how = "given";
  double f64_flops_per_s = 0, tf32_flops_per_s = 0, half_flops_per_s = 0;  // half: f16 and bf16
};
const Roofline& measured_roofline();

class Session;

struct Options {
  // Empty: the CPU, and the GPUs when the program has used one before the session starts. A GPU is
  // watched by CUPTI, which is opened when a session that records one starts and left when it ends
  // (some 25 ms); where it is missing or refused, by CUDA events: the table says why.
  std::vector<Activity> activities = {};
  std::optional<Schedule> schedule = {};  // none: all is recorded until stop()
  // Called at the end of each cycle, and by stop() when a cycle was being recorded and holds a step
  // or an event. It runs on the thread that steps or stops; start(), step() and stop() of other
  // threads wait for it.
  std::function<void(const Session&)> on_trace_ready = {};
  bool record_shapes = false;   // Input Shapes; needed to group by shape
  bool profile_memory = false;  // allocations and frees
  bool with_stack = false;      // rows and trace events name the user's line
  bool with_flops = true;       // FLOPs and bytes of kernel bodies
  bool with_modules = true;     // modules are ranges
  // The most bytes that a window's events may take (about 170 per op with its kernel), plus 64 KiB
  // per thread, and as much again for CUPTI's records (about 350 per launch). What comes later is
  // dropped and counted, in the table and in the trace.
  std::size_t max_bytes = std::size_t{64} << 20;
  std::optional<Roofline> roofline = {};
};

class Session {
 public:
  // Starts. Throws Error while another session records, when an asked activity does not exist
  // here, and for a schedule with negative numbers or active = 0.
  [[nodiscard]] explicit Session(Options options = {}, Loc loc = Loc::here());
  // Stops. What stop() would throw (a trace that cannot be written) is one line on stderr.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // step() ends ProfilerStep#N and begins the next, on the thread that started the session; without
  // a schedule steps only mark time. A step that stop() cuts short is not counted. stop() twice is
  // fine, and so is stop() on another thread.
  void step(Loc loc = Loc::here());
  void stop(Loc loc = Loc::here());
  // Records again after stop(); steps count from 0. Throws Error while running.
  void start(Loc loc = Loc::here());

  Action action() const;  // what the present step is used for
  std::int64_t step_number() const;

  // Results are those of the last finished window: the whole session, or the last whole cycle. A
  // cycle that stop() cuts short is the result while on_trace_ready is called for it, and after
  // that only where no whole one has finished. They may be asked for from several threads, also
  // while another one steps, stops or starts again: each call speaks of one window. Throws Error
  // when none has finished yet.
  Averages key_averages(bool group_by_shape = false, Loc loc = Loc::here()) const;
  // Of the steps; with a name, of the passes through that range. Throws Error for an unknown name.
  Verdict verdict(std::string_view range = {}, Loc loc = Loc::here()) const;
  // JSON as torch.profiler writes it, for Perfetto, speedscope, HTA and others; gzipped when the
  // name ends in ".gz". Some 200 to 400 bytes an event, gzipped a tenth or less. Throws FileError.
  void export_chrome_trace(const std::string& path, Loc loc = Loc::here()) const;
  // Folded stacks, "outer;inner nanoseconds" a line, for flame graphs; a stack may have several
  // lines where there are very many. The metric is
  // self_cpu_time_total or self_device_time_total. Throws FileError, Error for another metric.
  void export_stacks(const std::string& path, const std::string& metric = "self_cpu_time_total",
                     Loc loc = Loc::here()) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

using profile = Session;

// An on_trace_ready that writes DIR/<host>_<pid>.<counter>.<ns>.pt.trace.json[.gz]; the folder is
// made. No two calls, threads or processes meet in one file.
std::function<void(const Session&)> trace_handler(const std::string& dir, bool gzip = true,
                                                  Loc loc = Loc::here());

// A named range of the calling thread, from here to the end of the scope. One that ends on another
// thread, or in another order than ranges that nest, keeps its own times beside the nesting.
class record_function {
 public:
  [[nodiscard]] explicit record_function(std::string_view name, Loc loc = Loc::here());
  ~record_function();
  record_function(const record_function&) = delete;
  record_function& operator=(const record_function&) = delete;

 private:
  void* observer_;
  std::uint64_t window_ = 0, id_ = 0;
  int thread_ = 0;
};

}  // namespace ingot::profiler
