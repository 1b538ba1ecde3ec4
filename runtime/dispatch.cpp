#include <limits>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/core/check_at.h>
#include <ingot/kernels/ops/row.h>
#include <ingot/kernels/ops/structured/data.h>
#include <ingot/kernels/ops/structured/random.h>
#include <ingot/runtime/anomaly.h>
#include <ingot/runtime/autograd.h>
#include <ingot/runtime/dispatch.h>
#include <ingot/runtime/generator.h>
#include <ingot/runtime/observer.h>
#include <ingot/runtime/op_errors.h>
#include <ingot/runtime/small_array.h>

namespace ingot {

constinit thread_local Interceptor* t_interceptor = nullptr;
constinit thread_local bool t_grad_enabled = true;
constinit thread_local const Loc* t_line = nullptr;

namespace {

// More inputs than this (a long cat) go through the heap.
constexpr int kInlineInputs = 8;

// The operands of a call that is refused; null ones are numbers, or were left out.
class Metas {
 public:
  explicit Metas(const Call& call) : metas_(call.n_in) {
    for (int i = 0; i < call.n_in; ++i) {
      const bool present = call.in[i] != nullptr && call.in[i]->defined();
      metas_[i] = present ? &call.in[i]->meta() : nullptr;
    }
  }
  const Meta* const* begin() const { return metas_.begin(); }

 private:
  SmallArray<const Meta*, kInlineInputs> metas_;
};

template <class E>
[[noreturn, gnu::cold, gnu::noinline]] void refuse(const Call& call, const std::string& text) {
  throw E(op_error_text(text, call.op, Metas(call).begin(), call.n_in, call.loc), call.op.name,
          call.loc);
}

void check_ready(const Storage& s, const Call& call) {
  switch (s.state.load(std::memory_order_acquire)) {
    case ByteState::real:
      return;
    case ByteState::poisoned:
      rethrow_poison(s);
    case ByteState::pending:
      refuse<Error>(call,
                    "an operand is pending in a compiled call of another thread; it is ready when "
                    "that call returns");
  }
}

std::size_t storage_bytes(const Meta& m) {
  // Sizes whose product overflows never reach the allocator.
  double bytes = item_size(m.dtype);
  for (i64 d : m.sizes) bytes *= static_cast<double>(d);
  if (bytes > 0x1p52) {
    detail::fail<OutOfMemoryError>("out of memory on {}: {} needs {:.3g} bytes", m.device.str(),
                                   describe(m), bytes);
  }
  return static_cast<std::size_t>(m.numel()) * static_cast<std::size_t>(item_size(m.dtype));
}

// What the op makes of operands like these.
struct Inferred {
  Meta metas[kMaxOutputs];
  i64 offset = 0;
};

void infer(const Call& call, const OpArgs& args, Inferred* result) {
  const OpInfo& op = call.op;
  op.infer(op, args, result->metas, &result->offset);
  if (call.writes < 0) return;
  const Tensor& target = *call.in[call.writes];
  INGOT_CHECK(result->metas[0].sizes == target.sizes(),
              "{}: the result {} does not fit the written {}", op.name, describe(result->metas[0]),
              describe(target.meta()));
}

void run(const Call& call, const OpArgs& args, const Inferred& inferred, Tensor* out,
         Ticket* ticket) {
  const OpInfo& op = call.op;
  const Meta* metas = inferred.metas;
  if (op.kind == OpKind::view) {
    const TensorImpl& x = call.in[0]->get();
    out[0] = Tensor(TensorImpl::create(x.storage, metas[0], x.offset + inferred.offset));
    return;
  }
  if (call.writes >= 0) out[0] = *call.in[call.writes];
  for (int i = call.writes >= 0 ? 1 : 0; i < op.n_out; ++i) {
    out[i] = Tensor(
        TensorImpl::create(Storage::create(storage_bytes(metas[i]), metas[i].device), metas[i], 0));
  }
  if (op.kind == OpKind::random) {
    *ticket = draw_ticket(metas[0].device, structured::blocks_drawn(metas[0]));
  }
  SmallArray<BufferView, kInlineInputs> in(call.n_in);
  for (int i = 0; i < call.n_in; ++i) {
    in[i] = args.has(i) ? BufferView{call.in[i]->get().data(), args.in[i]}
                        : BufferView{nullptr, nullptr};
  }
  BufferView results[kMaxOutputs];
  for (int i = 0; i < op.n_out; ++i) results[i] = {out[i].get().data(), &out[i].meta()};
  run_kernel({op, in.data(), call.n_in, results, op.n_out, call.attrs, *ticket}, call.loc);
}

}  // namespace

namespace {

// Runs f; an Error from it is completed with the operands and the line.
template <class F>
void completing(const Call& call, F f) {
  try {
    f();
  } catch (const Error& e) {
    throw_complete(e, call.op, Metas(call).begin(), call.n_in, call.loc);
  }
}

// Whether record_history() has anything to do: most ops outside of training need none.
bool enters_history(const Call& call) {
  if (call.writes >= 0 || call.op.kind == OpKind::view) return true;
  if (!grad_enabled()) return false;
  for (int i = 0; i < call.n_in; ++i) {
    if (call.in[i] == nullptr || !call.in[i]->defined()) continue;
    const TensorImpl& x = *call.in[i]->impl();
    if (x.requires_grad || x.base) return true;
  }
  return false;
}

// All operands live on one device; only copies may cross.
void check_devices(const Call& call) {
  const Meta* first = nullptr;
  for (int i = 0; i < call.n_in; ++i) {
    if (call.in[i] == nullptr || !call.in[i]->defined()) continue;
    const Meta& m = call.in[i]->meta();
    if (first == nullptr) first = &m;
    if (m.device == first->device || call.op == structured_op<structured::Copy>) continue;
    refuse<DeviceError>(call, fmt::format("operands on {} and {}; move one with .to(device)",
                                          first->device.str(), m.device.str()));
  }
}

void check_given(const Call& call) {
  for (int i = 0; i < call.n_in; ++i) {
    if (call.in[i] == nullptr || call.in[i]->defined()) [[likely]]
      continue;
    refuse<Error>(call, fmt::format("operand {} is an undefined Tensor (default constructed, or "
                                    "moved from)",
                                    i));
  }
}

// How far a call came that an Error ends.
enum class Reached : std::uint8_t { nothing, check, bytes };

// Everything but the replay of a recorded call.
void run_checked(const Call& call, Tensor* out, Ticket* ticket, Reached* reached) {
  *reached = Reached::check;
  check_given(call);
  SmallArray<const Meta*, kInlineInputs> metas(call.n_in);
  for (int i = 0; i < call.n_in; ++i) {
    metas[i] = call.in[i] == nullptr ? nullptr : &call.in[i]->meta();
  }
  *reached = Reached::nothing;
  for (int i = 0; i < call.n_in; ++i) {
    if (call.in[i] != nullptr) check_ready(*call.in[i]->get().storage, call);
  }
  *reached = Reached::check;
  check_devices(call);
  OpArgs args{metas.data(), call.n_in, call.attrs, call.device};
  ScopedEvent event({.kind = EventKind::op,
                     .name = call.op.name,
                     .loc = call.loc,
                     .op = &call.op,
                     .args = &args});
  completing(call, [&] {
    Inferred inferred;
    infer(call, args, &inferred);
    *reached = Reached::bytes;
    run(call, args, inferred, out, ticket);
  });
}

[[gnu::noinline]] void run_call(const Call& call, Tensor* out, Interceptor* frame) {
  Ticket ticket;
  Reached reached = Reached::nothing;
  try {
    run_checked(call, out, &ticket, &reached);
  } catch (const OutOfMemoryError&) {
    throw;  // says nothing about the next call
  } catch (const Error&) {
    // The function may catch it and go on, so a recorded path has to know.
    if (frame != nullptr && reached != Reached::nothing) {
      frame->refused(call, reached == Reached::bytes);
    }
    throw;
  }
  if (frame != nullptr) frame->executed(call, out, ticket);
  if (enters_history(call)) record_history(call, out);
  if (t_anomaly != Anomaly::off) [[unlikely]]
    check_anomaly(call, out);
}

void match_or_run(const Call& call, Tensor* out) {
  Interceptor* frame = t_interceptor;
  if (frame != nullptr && frame->idle) frame = nullptr;
  if (frame != nullptr) {
    if (frame->exposes && frame->runs_at_once(call)) [[unlikely]] {
      frame = nullptr;
    } else if (const Match match = frame->match(call, out); match != Match::no) {
      if (match != Match::done && enters_history(call)) record_history(call, out);
      return;
    }
  }
  run_call(call, out, frame);
}

void dispatch_at(const Call& call, Tensor* out) {
  if (call.writes < 0) {
    match_or_run(call, out);
    return;
  }
  check_given(call);
  completing(call, [&] { check_write(call); });
  Tensor kept[kMaxRowInputs];
  if (!keep_overwritten(call, kept)) {
    match_or_run(call, out);
    return;
  }
  Call keeping = call;
  keeping.overwritten = kept;
  match_or_run(keeping, out);
}

}  // namespace

void dispatch_other(const Call& call, Tensor* out) {
  if (t_line == nullptr) {
    dispatch_at(call, out);
  } else {
    dispatch_at({call.op, call.in, call.n_in, call.attrs, *t_line, call.device, call.writes}, out);
  }
}

void check_call(const Call& call) {
  check_given(call);
  SmallArray<const Meta*, kInlineInputs> metas(call.n_in);
  for (int i = 0; i < call.n_in; ++i) {
    metas[i] = call.in[i] == nullptr ? nullptr : &call.in[i]->meta();
  }
  check_devices(call);
  const OpArgs args{metas.data(), call.n_in, call.attrs, call.device};
  Inferred inferred;
  completing(call, [&] { infer(call, args, &inferred); });
}

void run_beside(const Call& call, Tensor* out) { run_call(call, out, nullptr); }

LineScope::LineScope(Loc loc) : loc_(loc), outer_(t_line) { t_line = &loc_; }
LineScope::~LineScope() { t_line = outer_; }

void observe(const Tensor& t, Access access, const char* what, Loc loc) {
  const Storage& s = *t.get().storage;
  if (t_interceptor != nullptr) t_interceptor->observe(access, t.impl(), what, loc);
  ByteState state = s.state.load(std::memory_order_acquire);
  if (state == ByteState::poisoned) rethrow_poison(s);
  INGOT_CHECK_AT(what, loc, state == ByteState::real,
                 "the tensor {} is pending in a compiled call of another thread",
                 describe(t.meta()));
}

void* bytes_of(const Tensor& t, Access access, const char* what, Loc loc) {
  observe(t, access, what, loc);
  return t.get().data();
}

void* exposed_bytes_of(const Tensor& t, Access access, const char* what, Loc loc) {
  observe(t, access, what, loc);
  if (t_interceptor != nullptr) t_interceptor->expose(access, *t.get().storage);
  return t.get().data();
}

void poison(Storage& storage, std::shared_ptr<const std::exception_ptr> error) {
  storage.poison = new std::shared_ptr<const std::exception_ptr>(std::move(error));
  storage.state.store(ByteState::poisoned, std::memory_order_release);
}

void rethrow_poison(const Storage& storage) {
  auto* error = static_cast<std::shared_ptr<const std::exception_ptr>*>(storage.poison);
  std::rethrow_exception(**error);
}

}  // namespace ingot
