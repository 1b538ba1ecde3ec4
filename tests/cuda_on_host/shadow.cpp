#include "cuda_on_host/shadow.h"

#include <algorithm>
#include <cstring>
#include <exception>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ingot/kernels/cuda/fault.h>

#include "cuda_on_host/closeness.h"
#include "cuda_on_host/emulated.h"
#include "cuda_on_host/grid.h"

namespace ingot::emulation {

namespace {

bool same_elements(const Tensor& a, const Tensor& b) {
  return a.get().data() == b.get().data() && a.dtype() == b.dtype() && a.sizes() == b.sizes() &&
         a.strides() == b.strides();
}

bool present(const Call& call, int i) { return call.in[i] != nullptr && call.in[i]->defined(); }

std::string operands_of(const Call& call) {
  std::string text;
  for (int i = 0; i < call.n_in; ++i) {
    text += i == 0 ? "" : ", ";
    text += present(call, i)
                ? fmt::format("{} strides {} offset {}", describe(call.in[i]->meta()),
                              to_string(call.in[i]->strides()), call.in[i]->get().offset)
                : "-";
  }
  return text;
}

}  // namespace

Shadow::Shadow(Kernel (*find)(const OpInfo& op)) : find_(find), outer_(t_interceptor) {
  t_interceptor = this;
}
Shadow::Shadow() : Shadow(&isa_emulated::cuda_kernel) {}
Shadow::~Shadow() { t_interceptor = outer_; }

Shadow::Tally& Shadow::tally() {
  static Tally tally;
  return tally;
}

Match Shadow::match(const Call& call, Tensor*) {
  written_ = nullptr;
  before_.clear();
  if (call.writes >= 0) {
    written_ = call.in[call.writes]->get().storage.get();
    before_ = snapshot(*written_);
  }
  return Match::no;
}

void Shadow::executed(const Call& call, const Tensor* out, Ticket ticket) {
  if (call.op.kind == OpKind::view) return;
  bool any = false;
  for (int i = 0; i < call.op.n_out; ++i) any |= out[i].numel() > 0;
  if (!any) return;
  const Kernel kernel = find_(call.op);
  const std::string name = call.op.user != nullptr ? "a user's row" : call.op.name;
  if (kernel == nullptr) {
    ++tally().missing[name];
    return;
  }
  ++tally().compared[name];
  // No op of the comparison is shadowed.
  t_interceptor = nullptr;
  const std::string problem = difference(call, out, ticket, kernel);
  t_interceptor = this;
  if (problem.empty()) return;
  ++tally().failures;
  ADD_FAILURE() << call.op.name << "(" << operands_of(call) << ") at " << to_string(call.loc)
                << "\n  " << problem;
}

std::string Shadow::difference(const Call& call, const Tensor* out, Ticket ticket, Kernel kernel) {
  for (const Order order : {Order::ascending, Order::descending}) {
    set_order(order);
    set_library(order == Order::ascending);
    std::string problem;
    try {
      problem = run_once(call, out, ticket, kernel);
    } catch (const std::exception& e) {
      problem = e.what();
    }
    set_order(Order::ascending);
    set_library(true);
    if (!problem.empty()) {
      return problem + (order == Order::ascending ? "" : " (in descending order)");
    }
  }
  return "";
}

std::string Shadow::run_once(const Call& call, const Tensor* out, Ticket ticket, Kernel kernel) {
  Images images;
  const OpInfo& op = call.op;
  std::vector<BufferView> in(static_cast<std::size_t>(call.n_in)), result, wanted, operands;
  std::vector<const Storage*> written;
  // The CPU's operands as they were, for the bounds.
  Images originals;
  for (int i = 0; i < op.n_out; ++i) {
    const bool in_place = i == 0 && call.writes >= 0;
    result.push_back(in_place ? images.view(out[i], &before_) : images.fresh(out[i]));
    wanted.push_back({out[i].get().data(), &out[i].meta()});
    written.push_back(out[i].get().storage.get());
  }
  for (int i = 0; i < call.n_in; ++i) {
    auto& view = in[static_cast<std::size_t>(i)];
    view = {nullptr, nullptr};
    operands.push_back(view);
    if (!present(call, i)) continue;
    const Tensor& t = *call.in[i];
    const bool touched = written_ != nullptr && t.get().storage.get() == written_;
    // As run_kernel does: who overlaps the result without being it reads a copy.
    const bool apart = touched && !same_elements(t, out[0]);
    const Snapshot* before = touched ? &before_ : nullptr;
    view = apart ? images.own(t, before) : images.view(t, before);
    operands.back() = touched ? originals.view(t, before) : BufferView{t.get().data(), &t.meta()};
  }
  kernel({op, in.data(), call.n_in, result.data(), op.n_out, call.attrs, ticket});
  cuda::check_fault(0);
  if (std::string damage = images.damage(written); !damage.empty()) return damage;
  if (std::string damage = scratch_damage(); !damage.empty()) return damage;

  const KernelArgs cpu{op, operands.data(), call.n_in, wanted.data(), op.n_out, call.attrs, ticket};
  const Closeness closeness(cpu);
  for (int i = 0; i < op.n_out; ++i) {
    const std::string problem =
        closeness.compare_and_level(i, result[static_cast<std::size_t>(i)].data);
    if (!problem.empty()) return problem;
    if (closeness.used() > 0) {
      double& used = tally().used[op.name];
      used = std::max(used, closeness.used());
    }
    const Storage& storage = *out[i].get().storage;
    if (storage.bytes > 0 &&
        std::memcmp(images.bytes_of(storage), storage.data, storage.bytes) != 0) {
      return fmt::format("bytes outside of result {} were written", i);
    }
  }
  return "";
}

}  // namespace ingot::emulation
