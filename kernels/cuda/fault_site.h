// What a kernel needs to report an index that is out of range, and the record that it fills.
// Owns: FaultRecord, FaultSite. Kernels take a FaultSite as a parameter and report through
// fault.cuh; the host reads the record through fault.h. Must not know: errors, devices.
#pragma once

#include <ingot/kernels/ops/isa.h>

namespace ingot {

// What an index counts, for the sentence of the error: "5 rows" with a unit, else "dim 1 of size
// 5". The texts are literals: records and captured graphs keep their addresses.
struct FaultSite {
  struct FaultRecord* record;  // page-locked host memory that the device writes through
  const char* op;
  const char* unit;  // or nullptr
  int axis;
  const char* file;  // of the user's call; nullptr: not known
  int line;
};

// One per device. A kernel that takes it from empty to claimed fills it: the first fault wins, and
// stays until the host has read it.
struct FaultRecord {
  enum State : unsigned { empty, claimed, filled };
  unsigned state;
  int axis, line;
  __INT64_TYPE__ index, size;
  const char *op, *unit, *file;
};

}  // namespace ingot
