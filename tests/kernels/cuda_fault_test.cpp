// The host's side of faults found by a device; the record is filled by hand as fault.cuh does.
#include <gtest/gtest.h>

#include <ingot/kernels/cuda/fault.h>

namespace ingot {
namespace {

void report(const FaultSite& site, i64 index, i64 size) {
  FaultRecord& r = *site.record;
  if (r.state != FaultRecord::empty) return;
  r = {FaultRecord::filled, site.axis, site.line, index, size, site.op, site.unit, site.file};
}

std::string fault() {
  try {
    cuda::check_fault(0);
  } catch (const IndexError& e) {
    return std::string(e.op()) + " | " + e.what();
  }
  return "";
}

TEST(CudaFault, FirstOneIsThrownOnceWithItsLine) {
  EXPECT_EQ(fault(), "");
  const FaultSite unknown = cuda::fault_site("index_select", 0, "rows");
  EXPECT_EQ(fault(), "");
  report(unknown, 7, 5);
  report(unknown, 8, 5);
  EXPECT_EQ(fault(), "index_select | index_select: index 7 is out of range for 5 rows");
  EXPECT_EQ(fault(), "");

  cuda::set_fault_line(Loc::here("models/net.cpp", 14));
  const FaultSite here = cuda::fault_site("gather", 1);
  cuda::set_fault_line(Loc::here("models/net.cpp", 15));
  report(here, -4, 3);
  EXPECT_EQ(fault(),
            "gather | gather: index -4 is out of range for dim 1 of size 3; at net.cpp:14");
  EXPECT_EQ(fault(), "");
}

TEST(CudaFault, HalfWrittenIsNotRead) {
  const FaultSite site = cuda::fault_site("gather", 1);
  site.record->state = FaultRecord::claimed;
  EXPECT_EQ(fault(), "");
  site.record->state = FaultRecord::empty;
}

}  // namespace
}  // namespace ingot
