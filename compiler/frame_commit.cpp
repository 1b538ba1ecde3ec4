// What a stop executes: the plan (commit), or the matched ops one by one (flush); and what becomes
// of results when that fails.
#include <algorithm>

#include <ingot/compiler/entry.h>
#include <ingot/compiler/frame.h>
#include <ingot/kernels/core/check.h>
#include <ingot/runtime/observer.h>
#include <ingot/runtime/op_errors.h>
#include <ingot/runtime/small_array.h>

namespace ingot::compiler {

namespace {

// Of the exception that is being handled. A step asks for memory before it writes anything.
bool ran_out_of_memory() {
  try {
    throw;
  } catch (const OutOfMemoryError&) {
    return true;
  } catch (...) {
    return false;
  }
}

// The error of a kernel, completed with the operands and the line as eager dispatch does it.
std::exception_ptr completed(std::exception_ptr error, const OpInfo& op,
                             const std::vector<const Meta*>& in, Loc loc) {
  try {
    try {
      std::rethrow_exception(error);
    } catch (const Error& e) {
      throw_complete(e, op, in.data(), static_cast<int>(in.size()), loc);
    }
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

void Frame::commit(const TrieNode& stop) {
  if (timed_) replay_ns_ += clock_ns() - mark_;
  if (!give_bytes(stop)) {
    flush();  // nothing has run yet: eager needs less at a time
    return;
  }
  bind(stop.plan);
  if (entry_.options().verify) verify_plan(stop.plan);
  if (!run_plan(stop.plan)) {
    take_bytes(stop);
    flush();
    return;
  }
  for (int b : stop.kept) {
    t_.buffer(b).storage->state.store(ByteState::real, std::memory_order_release);
  }
  end_segment();
  if (timed_) mark_ = clock_ns();
}

// The function may catch what the commit throws and go on: the path that was recorded says nothing
// about that, so the rest of the call is eager.
void Frame::commit_cut(TrieNode& stop) {
  try {
    commit(stop);
  } catch (...) {
    state_ = State::eager;
    recorded_ = true;
    flush();  // what did not get as far as running, if anything
    throw;
  }
  cursor_ = &stop;
  next_segment();
}

void Frame::end_segment() {
  t_.end_segment();
  marked_ = 0;
}

// Memory for what outlives the segment; false, and none, when there is not enough.
bool Frame::give_bytes(const TrieNode& stop) {
  try {
    for (int b : stop.kept) {
      Storage& storage = *t_.buffer(b).storage;
      if (storage.data == nullptr && storage.bytes > 0) storage.materialize();
    }
    return true;
  } catch (const OutOfMemoryError&) {
    take_bytes(stop);
    return false;
  }
}

void Frame::take_bytes(const TrieNode& stop) {
  for (int b : stop.kept) {
    if (t_.buffer(b).storage->data != nullptr) t_.buffer(b).storage->drop_bytes();
  }
}

void Frame::bind(const SegmentPlan& plan) {
  Binding& binding = t_.binding;
  binding.buffers.resize(plan.buffers.size());
  void** address = binding.buffers.data();
  for (int b : plan.buffers) *address++ = t_.buffer(b).storage->data;
  binding.offsets.resize(plan.values.size());
  i64* offset = binding.offsets.data();
  for (const Source& value : plan.values) {
    auto index = static_cast<std::size_t>(value.index);
    *offset++ = value.kind == Source::slot ? t_.slots[index].offset : t_.results[index].offset;
  }
  binding.attrs.resize(t_.matched.size());
  binding.tickets.resize(t_.matched.size());
  const Attrs** attrs = binding.attrs.data();
  Ticket* ticket = binding.tickets.data();
  for (const Matched& m : t_.matched) {
    *attrs++ = m.attrs < 0 ? &m.node->attrs : &t_.attrs[static_cast<std::size_t>(m.attrs)];
    *ticket++ = m.ticket;
  }
}

// False when there was no memory for the temporaries, and nothing has run.
bool Frame::run_plan(const SegmentPlan& plan) {
  int failed = Plan::kNoneFailed;
  try {
    ScopedEvent event({.kind = EventKind::replay, .name = "plan", .loc = entry_.loc()});
    plan.plan->run(t_.binding, &failed);
    return true;
  } catch (...) {
    if (failed == Plan::kNoArena || (failed == 0 && ran_out_of_memory())) return false;
    std::vector<bool> ran(t_.matched.size(), false);
    for (int k = 0; k < failed; ++k) {
      for (int i : plan.plan->steps()[static_cast<std::size_t>(k)]->ops()) {
        ran[static_cast<std::size_t>(i)] = true;
      }
    }
    const std::vector<int>& ops = plan.plan->steps()[static_cast<std::size_t>(failed)]->ops();
    const Segment& segment = plan.plan->segment();
    auto culprit =
        std::find_if(ops.begin(), ops.end(), [&](int i) { return may_throw(*segment.op(i).op); });
    const SegmentOp& op = segment.op(culprit == ops.end() ? ops.front() : *culprit);
    std::vector<const Meta*> in;
    for (int v : op.in) in.push_back(v < 0 ? nullptr : &segment.meta(v));
    std::exception_ptr error = completed(std::current_exception(), *op.op, in, op.loc);
    poison_ops(ran, error);
    std::rethrow_exception(error);
  }
}

void Frame::poison_ops(const std::vector<bool>& ran, std::exception_ptr error) {
  auto shared = std::make_shared<const std::exception_ptr>(std::move(error));
  for (std::size_t i = 0; i < t_.matched.size(); ++i) {
    for (const NewResult& r : t_.matched[i].node->results) {
      if (!r.new_buffer) continue;
      Storage& storage = *t_.buffer(r.buffer).storage;
      if (storage.state.load(std::memory_order_relaxed) != ByteState::pending) continue;
      if (ran[i]) {
        storage.state.store(ByteState::real, std::memory_order_release);
      } else {
        poison(storage, shared);
      }
    }
  }
  end_segment();
}

// By buffer, the last matched op that touches it.
void Frame::find_last_uses() {
  for (std::size_t i = 0; i < t_.matched.size(); ++i) {
    const TrieNode& node = *t_.matched[i].node;
    for (const Source& source : node.in) {
      if (source.kind != Source::none) {
        t_.buffer(buffer_of(source)).last_use = static_cast<int>(i);
      }
    }
    for (const NewResult& r : node.results) t_.buffer(r.buffer).last_use = static_cast<int>(i);
  }
}

// Op by op, memory goes as it does in eager execution: with the last op that needs it.
void Frame::drop_unused(const TrieNode& node, int place) {
  const auto drop = [&](int buffer) {
    CallBuffer& b = t_.buffer(buffer);
    if (b.last_use != place || b.write_waits) return;
    b.last_use = -1;
    t_.let_go(b);
    if (b.produced && !b.has_handles() && b.storage->data != nullptr) b.storage->drop_bytes();
  };
  for (const Source& source : node.in) {
    if (source.kind != Source::none) drop(buffer_of(source));
  }
  for (const NewResult& r : node.results) drop(r.buffer);
}

void Frame::flush() {
  std::size_t next = 0;
  find_last_uses();
  try {
    for (; next < t_.matched.size(); ++next) {
      run_matched(t_.matched[next]);
      drop_unused(*t_.matched[next].node, static_cast<int>(next));
    }
  } catch (...) {
    std::vector<bool> ran(t_.matched.size(), false);
    for (std::size_t i = 0; i < next; ++i) ran[i] = true;
    const TrieNode& node = *t_.matched[next].node;
    std::vector<const Meta*> in;
    for (const Source& source : node.in) {
      auto i = static_cast<std::size_t>(source.index);
      in.push_back(source.kind == Source::none   ? nullptr
                   : source.kind == Source::slot ? t_.slots[i].meta
                                                 : t_.results[i].meta);
    }
    std::exception_ptr error = completed(std::current_exception(), *node.info, in, node.loc);
    poison_ops(ran, error);
    std::rethrow_exception(error);
  }
  end_segment();
}

void Frame::run_matched(const Matched& m) {
  const TrieNode& node = *m.node;
  if (node.info->kind == OpKind::view) return;
  SmallArray<BufferView, 8> in(node.n_in);
  auto view = [&](int buffer, i64 offset, const Meta& meta) {
    char* data = static_cast<char*>(t_.buffer(buffer).storage->data);
    return BufferView{data + offset * item_size(meta.dtype), &meta};
  };
  for (std::size_t i = 0; i < node.in.size(); ++i) {
    auto index = static_cast<std::size_t>(node.in[i].index);
    const auto a = static_cast<int>(i);
    in[a] = {nullptr, nullptr};
    if (node.in[i].kind == Source::none) continue;
    in[a] = node.in[i].kind == Source::slot
                ? view(t_.slots[index].buffer, t_.slots[index].offset, *t_.slots[index].meta)
                : view(t_.results[index].buffer, t_.results[index].offset, *t_.results[index].meta);
  }
  BufferView out[kMaxOutputs];
  for (std::size_t r = 0; r < node.results.size(); ++r) {
    const NewResult& result = node.results[r];
    Storage& storage = *t_.buffer(result.buffer).storage;
    if (result.new_buffer && storage.data == nullptr && storage.bytes > 0) storage.materialize();
    i64 offset = t_.results[static_cast<std::size_t>(node.first_result) + r].offset;
    out[r] = view(result.buffer, offset, result.meta);
  }
  const Attrs& attrs = m.attrs < 0 ? node.attrs : t_.attrs[static_cast<std::size_t>(m.attrs)];
  run_kernel({*node.info, in.data(), node.n_in, out, static_cast<int>(node.results.size()), attrs,
              m.ticket},
             node.loc);
  for (const NewResult& r : node.results) {
    if (!r.new_buffer) continue;
    t_.buffer(r.buffer).storage->state.store(ByteState::real, std::memory_order_release);
  }
}

}  // namespace ingot::compiler
