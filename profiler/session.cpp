#include <algorithm>
#include <atomic>
#include <cstdio>
#include <errno.h>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <utility>

#include <ingot/kernels/core/check_at.h>
#include <ingot/profiler/aggregate.h>
#include <ingot/profiler/chrome_trace.h>
#include <ingot/profiler/gpu_observer.h>
#include <ingot/profiler/judge.h>
#include <ingot/profiler/profiler.h>
#include <ingot/profiler/window.h>

namespace ingot::profiler {
namespace {

constexpr std::size_t kMostSteps = 1'000'000;  // later ones are not marked

bool records(Action action) {
  return action == Action::record || action == Action::record_and_save;
}

std::string process_name() {
#ifdef __GLIBC__
  return program_invocation_short_name;
#else
  return "ingot";
#endif
}

bool asks_for_gpu(const Options& o) {
  return std::find(o.activities.begin(), o.activities.end(), Activity::CUDA) != o.activities.end();
}

void check(const Options& o, Loc loc) {
  if (asks_for_gpu(o)) {
    const std::string reason = GpuObserver::unavailable();
    INGOT_CHECK_AT("profiler", loc, reason.empty(),
                   "Activity::CUDA was asked for, but {}; Activity::CPU works", reason);
  }
  if (o.schedule) {
    const Schedule& s = *o.schedule;
    INGOT_CHECK_AT("profiler", loc,
                   s.wait >= 0 && s.warmup >= 0 && s.repeat >= 0 && s.skip_first >= 0,
                   "a schedule has no negative numbers: wait {}, warmup {}, repeat {}, "
                   "skip_first {}",
                   s.wait, s.warmup, s.repeat, s.skip_first);
    INGOT_CHECK_AT("profiler", loc, s.active > 0, "a schedule needs active > 0, got {}", s.active);
  }
  if (o.roofline) {
    INGOT_CHECK_AT("profiler", loc, o.roofline->bytes_per_s > 0 && o.roofline->flops_per_s > 0,
                   "a given roofline needs bytes_per_s > 0 and flops_per_s > 0");
  }
}

// Runs f; an Error that it throws becomes one of `op`, and ends in the line.
template <class F>
auto with_line(const char* op, Loc loc, F f) {
  try {
    return f();
  } catch (const Error& e) {
    throw_like(e, std::string(e.what()) + "; at " + to_string(loc), op, loc);
  }
}

}  // namespace

struct Session::Impl {
  using Result = std::shared_ptr<const Window>;

  Options options;
  Recording recording;
  // Held by whoever starts, steps or stops, the callback included, which may start again.
  std::recursive_mutex control;
  ObserverCost cost;
  std::atomic<bool> running{false};
  std::thread::id owner;
  int owner_tid = 0;
  std::atomic<std::int64_t> step{0};
  bool in_callback = false;
  std::atomic<Action> action{Action::none};
  StepMark mark;                     // of the present step
  std::vector<StepMark> marks;       // of this window
  std::unique_ptr<GpuObserver> gpu;  // while a window is open that records GPUs
  bool whole_cycle = false;          // one has finished since start()

  mutable std::mutex result_mutex;  // of `last`; a reader keeps the window that it found
  Result last;

  Result result() const {
    const std::lock_guard lock(result_mutex);
    return last;
  }
  void publish(Result window) {
    const std::lock_guard lock(result_mutex);
    last.swap(window);
  }

  Action action_of(std::int64_t n) const {
    return options.schedule ? action_at(*options.schedule, n) : Action::record;
  }

  // The recorder's side of a step that begins.
  void enter(Action before, Action now) {
    bool goes_on = before == now ? now != Action::record_and_save
                                 : before == Action::record && now == Action::record_and_save;
    if (!goes_on) {
      action = Action::none;  // until the window is open
      marks.clear();
      if (now != Action::none) open_window();
    }
    action = now;
  }

  // A GPU's observer stays from the warm-up on: its own first costs are part of that.
  void open_window() {
    const bool wanted =
        asks_for_gpu(options) || (options.activities.empty() && GpuObserver::in_use());
    if (!wanted) {
      recorder().open(recording);
      return;
    }
    if (gpu == nullptr) {
      gpu = GpuObserver::start(options.max_bytes);
    } else {
      recorder().discard();  // no event of the old window speaks to it meanwhile
      gpu->restart();
    }
    recorder().open(recording, gpu->listener());
  }

  void begin_step() { mark = {step, ticks(), 0}; }

  void end_step() {
    mark.end = ticks();
    if (records(action) && marks.size() < kMostSteps) marks.push_back(mark);
  }

  // The GPU's work ends before the window does. A window that fails is gone: no step ends it again.
  Result finish_window() {
    GpuRecords records;
    RawWindow raw;
    try {
      if (gpu != nullptr) {
        recorder().pause();
        records = gpu->finish();
        gpu.reset();
      }
      raw = recorder().close();
    } catch (...) {
      action = Action::none;
      recorder().discard();
      gpu.reset();
      throw;
    }
    return std::make_shared<const Window>(std::move(raw), std::move(records),
                                          std::exchange(marks, {}), owner_tid, cost,
                                          options.with_modules);
  }

  // What stop() has cut short. A window in which nothing was recorded is no cycle, and one that has
  // fewer steps than a cycle is shown to the callback, but is not what later calls speak of when
  // there is a whole one.
  void finish_last_window(const Session& session, Result window) {
    const bool is_part = options.schedule.has_value();
    if (is_part && window->empty()) {
      if (result() == nullptr) publish(std::move(window));
      return;
    }
    struct Restore {
      Impl& s;
      Result part, whole;
      ~Restore() {
        // The callback may have started again.
        if (whole != nullptr && s.result() == part) s.publish(std::move(whole));
      }
    } restore{*this, window, is_part && whole_cycle ? result() : nullptr};
    publish(std::move(window));
    if (options.on_trace_ready) options.on_trace_ready(session);
  }

  Result window(Loc loc) const {
    Result window = result();
    INGOT_CHECK_AT("profiler", loc, window != nullptr, "no recording has finished yet{}",
                   running ? "; call stop() first" : "");
    return window;
  }
};

Session::Session(Options options, Loc loc) : impl_(std::make_unique<Impl>()) {
  check(options, loc);
  impl_->options = std::move(options);
  const Options& o = impl_->options;
  impl_->recording = {.shapes = o.record_shapes,
                      .memory = o.profile_memory,
                      .costs = o.with_flops,
                      .max_bytes = o.max_bytes};
  start(loc);
}

Session::~Session() {
  // Nobody can catch what a destructor throws.
  try {
    stop();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ingot: %s\n", e.what());
  } catch (...) {
    std::fprintf(stderr, "ingot: profiler: on_trace_ready threw what is no std::exception\n");
  }
}

void Session::start(Loc loc) {
  Impl& s = *impl_;
  const std::lock_guard control(s.control);
  recorder().lease(loc);
  try {
    s.cost = recorder().measure(s.recording);
    s.owner = std::this_thread::get_id();
    s.owner_tid = t_log == nullptr ? 0 : t_log->tid;
    s.step = 0;
    s.whole_cycle = false;
    s.publish(nullptr);
    with_line("profiler", loc, [&] { s.enter(Action::none, s.action_of(0)); });
  } catch (...) {
    s.gpu.reset();
    recorder().give_back();
    throw;
  }
  s.running = true;
  s.begin_step();
}

void Session::step(Loc loc) {
  Impl& s = *impl_;
  const std::lock_guard control(s.control);
  INGOT_CHECK_AT("profiler", loc, s.running, "step() needs a running session; this one is stopped");
  INGOT_CHECK_AT("profiler", loc, s.owner == std::this_thread::get_id(),
                 "step() belongs to the thread that started the session");
  INGOT_CHECK_AT("profiler", loc, !s.in_callback, "step() may not be called by on_trace_ready");
  s.end_step();
  const Action before = s.action;
  std::exception_ptr error;
  if (before == Action::record_and_save) {
    with_line("profiler", loc, [&] { s.publish(s.finish_window()); });
    s.whole_cycle = true;
    s.in_callback = true;
    try {
      if (s.options.on_trace_ready) s.options.on_trace_ready(*this);
    } catch (...) {
      error = std::current_exception();
    }
    s.in_callback = false;
  }
  ++s.step;
  with_line("profiler", loc, [&] { s.enter(before, s.action_of(s.step)); });
  s.begin_step();
  if (error) std::rethrow_exception(error);
}

void Session::stop(Loc loc) {
  Impl& s = *impl_;
  const std::lock_guard control(s.control);
  if (!s.running) return;
  INGOT_CHECK_AT("profiler", loc, !s.in_callback, "stop() may not be called by on_trace_ready");
  s.running = false;
  Impl::Result window;
  {
    struct Release {
      Impl& s;
      ~Release() {
        recorder().discard();
        s.gpu.reset();
        recorder().free_own_chunks();
        recorder().give_back();
      }
    } release{s};
    if (records(s.action.exchange(Action::none))) {
      with_line("profiler", loc, [&] { window = s.finish_window(); });
    }
  }
  if (window != nullptr) s.finish_last_window(*this, std::move(window));
}

Action Session::action() const { return impl_->action; }
std::int64_t Session::step_number() const { return impl_->step; }

Averages Session::key_averages(bool group_by_shape, Loc loc) const {
  const Options& o = impl_->options;
  const Impl::Result window = impl_->window(loc);
  INGOT_CHECK_AT("key_averages", loc, !group_by_shape || o.record_shapes,
                 "grouping by shape needs Options::record_shapes");
  return aggregate(
      window->timeline(),
      {.by_shape = group_by_shape, .with_memory = o.profile_memory, .with_stack = o.with_stack},
      window->roofline(o));
}

Verdict Session::verdict(std::string_view range, Loc loc) const {
  const Impl::Result window = impl_->window(loc);
  Roofline roofline = window->roofline(impl_->options);
  return with_line("verdict", loc, [&] {
    return judge(units_of(window->timeline(), range, roofline), range, roofline);
  });
}

void Session::export_chrome_trace(const std::string& path, Loc loc) const {
  const Options& o = impl_->options;
  const Impl::Result window = impl_->window(loc);
  with_line("export_chrome_trace", loc, [&] {
    window->read([&](const LaneSource& source) {
      write_chrome_trace(source,
                         {.process = process_name(),
                          .pid = ::getpid(),
                          .record_shapes = o.record_shapes,
                          .profile_memory = o.profile_memory,
                          .with_stack = o.with_stack,
                          .with_flops = o.with_flops,
                          .with_modules = o.with_modules},
                         path);
    });
  });
}

void Session::export_stacks(const std::string& path, const std::string& metric, Loc loc) const {
  bool device = metric == "self_device_time_total" || metric == "self_cuda_time_total";
  INGOT_CHECK_AT("export_stacks", loc, device || metric == "self_cpu_time_total",
                 "the metric is self_cpu_time_total or self_device_time_total, got '{}'", metric);
  const Impl::Result window = impl_->window(loc);
  with_line("export_stacks", loc, [&] {
    window->read([&](const LaneSource& source) {
      write_stacks(source, device, impl_->options.with_stack, path);
    });
  });
}

std::function<void(const Session&)> trace_handler(const std::string& dir, bool gzip, Loc loc) {
  return [dir, gzip, loc](const Session& session) {
    static std::atomic<unsigned> counter{0};
    std::error_code error;
    std::filesystem::create_directories(dir, error);
    INGOT_CHECK_AT_AS(FileError, "trace_handler", loc, !error, "cannot make the folder {}: {}", dir,
                      error.message());
    char host[256] = "host";
    ::gethostname(host, sizeof host - 1);
    session.export_chrome_trace(
        fmt::format("{}/{}_{}.{}.{}.pt.trace.json{}", dir, host, ::getpid(), counter.fetch_add(1),
                    monotonic_ns(), gzip ? ".gz" : ""),
        loc);
  };
}

}  // namespace ingot::profiler
