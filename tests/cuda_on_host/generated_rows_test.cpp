// Generated kernels over rows, run on the host: the bits of their ops one by one as CUDA kernels.
#include <memory>

#include <gtest/gtest.h>

#include <ingot/compiler/cuda/cuda_row_step.h>
#include <ingot/compiler/fusion/group.h>

#include "cuda_on_host/generated.h"
#include "cuda_on_host/grid.h"
#include "cuda_on_host/segment_memory.h"
#include "support/row_segments.h"

namespace ingot::testing {
namespace {

using testing_support::row_segments;
using testing_support::SegmentBuilder;

// The step of a segment whose ops all make one group.
std::unique_ptr<CudaRowStep> step_of(const Segment& s) {
  std::vector<Ledger::Event> refusals;
  const std::vector<bool> needed(s.ops.size(), true), none(s.ops.size(), false);
  const std::vector<Group> groups =
      make_groups(s, needed, std::vector<int>(s.ops.size(), -1), none, &refusals);
  if (groups.size() != 1 || groups[0].kind != Group::rows) {
    ADD_FAILURE() << to_text(s) << (refusals.empty() ? "" : refusals[0].what);
    return nullptr;
  }
  const char* why = "";
  auto step = CudaRowStep::make(make_row_program(s, groups[0].space, groups[0].ops), s, &why);
  if (step == nullptr) ADD_FAILURE() << why << "\n" << to_text(s);
  return step;
}

class GeneratedRows : public ::testing::TestWithParam<DType> {};

TEST_P(GeneratedRows, HaveTheBitsOfTheirOpsOneByOne) {
  const std::vector<SegmentBuilder> segments = row_segments(GetParam());
  std::vector<std::unique_ptr<CudaRowStep>> steps;
  std::vector<std::string> texts;
  std::vector<unsigned> threads;
  for (const SegmentBuilder& b : segments) {
    steps.push_back(step_of(b.segment));
    ASSERT_NE(steps.back(), nullptr);
    texts.push_back(steps.back()->source());
    threads.push_back(steps.back()->threads());
  }
  const auto kernels =
      emulation::compile_for_host({"kernels/ops/rows.h", "kernels/cuda/row_program.cuh",
                                   "kernels/cuda/divisor.h", "kernels/cuda/wait.cuh"},
                                  texts, threads);
  ASSERT_EQ(kernels.size(), segments.size());
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const Segment& s = segments[i].segment;
    SegmentMemory want(s);
    run_on_host(s, want.binding);
    for (const auto order : {emulation::Order::ascending, emulation::Order::descending}) {
      SegmentMemory got(s);
      KernelParameter parameter;
      ASSERT_TRUE(steps[i]->parameter(s, got.binding, &parameter)) << to_text(s);
      emulation::set_order(order);
      kernels[i](parameter.data(), steps[i]->blocks());
      emulation::set_order(emulation::Order::ascending);
      expect_same(s, got, want, texts[i]);
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(InEveryType, GeneratedRows,
                         ::testing::Values(DType::f32, DType::f64, DType::f16, DType::bf16));

}  // namespace
}  // namespace ingot::testing
