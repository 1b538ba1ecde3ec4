// The choke point: every op passes through dispatch().
// Owns: Call, the order of things (match, check, observe, run, history), its errors, and the seam
// by which a compiled call takes part (Interceptor). Must not know: the compiler, single ops.
#pragma once

#include <exception>
#include <memory>

#include <ingot/kernels/kernel_table.h>
#include <ingot/runtime/grad_mode.h>
#include <ingot/runtime/tensor.h>

namespace ingot {

// One op as its caller asks for it.
struct Call {
  const OpInfo& op;
  const Tensor* const* in;  // a null entry: the next scalar of attrs, or an operand left out
  int n_in;
  const Attrs& attrs;
  Loc loc;
  Device device = kCPU;  // where a creation op makes its result
  int writes = -1;       // the input that the op overwrites; out[0] is then that tensor
  // By input, what the write overwrites and a gradient reads: copies made before. Null: nothing.
  const Tensor* overwritten = nullptr;
};

// What a call may do to bytes outside of ops, and in which order a device sees them.
enum class Access : std::uint8_t {
  read,          // item, print, to_vector, equal, save, a const data pointer
  write,         // a data pointer, copies from user memory
  device_order,  // synchronise, events, streams, memory statistics
};

// What replay found. related: some operand requires grad, or is a view.
enum class Match : std::uint8_t { no, alone, related };

// A compiled function in progress on this thread. The compiler implements it.
class Interceptor {
 public:
  // Replay: unless `no`, the call is the recorded one and `out` holds its (pending) results.
  virtual Match match(const Call& call, Tensor* out) = 0;
  // After an op ran eagerly while a call is being recorded.
  virtual void executed(const Call& call, const Tensor* out, Ticket ticket) = 0;
  // Before bytes are accessed: what is pending and matters has run when it returns.
  virtual void observe(Access access, const Storage* storage, const char* what, Loc loc) = 0;

  // What is pending runs now, and the rest of the call op by op: nothing is matched or recorded.
  virtual void leave(const char* why, Loc loc) = 0;

  // The function borrowed memory of its own: the bytes may be gone or overwritten before pending
  // ops run, so ops on such tensors run at once and are not recorded.
  bool transients = false;

 protected:
  ~Interceptor() = default;
};
extern constinit thread_local Interceptor* t_interceptor;

// The line that this thread's ops report instead of their own, see LineScope.
extern constinit thread_local const Loc* t_line;

// Adds the call to the history of its results, see autograd.h.
void record_history(const Call& call, Tensor* out);

// Every op that is not a plain replay.
void dispatch_other(const Call& call, Tensor* out);

// Runs one op. out: op.n_out tensors, assigned.
inline void dispatch(const Call& call, Tensor* out) {
  Interceptor* frame = t_interceptor;
  if (frame != nullptr && t_line == nullptr && call.writes < 0 && !frame->transients) {
    const Match match = frame->match(call, out);
    if (match != Match::no) [[likely]] {
      if ((match == Match::related && grad_enabled()) || call.op.kind == OpKind::view) {
        record_history(call, out);
      }
      return;
    }
  }
  dispatch_other(call, out);
}

// The same for ops of one result.
inline Tensor dispatch(const Call& call) {
  Tensor out;
  dispatch(call, &out);
  return out;
}

// Runs the kernel of an op on given memory, with no checks, history or events but the kernel's own.
// Operands that overlap the result without being it are copied first. Used by eager dispatch and by
// plans, so that both do the same.
void run_kernel(const KernelArgs& args, Loc loc);

// Before bytes of t are read or written by other means than an op; throws what poisoned t.
void observe(const Tensor& t, Access access, const char* what, Loc loc);

// The error that a storage was poisoned with, kept for everyone who touches it.
void poison(Storage& storage, std::shared_ptr<const std::exception_ptr> error);
[[noreturn]] void rethrow_poison(const Storage& storage);

// While one lives, ops of this thread report `loc` as their line: a gradient rule's ops stand on
// the line of the forward op.
class LineScope {
 public:
  explicit LineScope(Loc loc);
  ~LineScope();
  LineScope(const LineScope&) = delete;

 private:
  Loc loc_;
  const Loc* outer_;
};

}  // namespace ingot
