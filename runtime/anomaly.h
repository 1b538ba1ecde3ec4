// AnomalyGuard: finds the op that makes the first NaN, forward or backward.
// Owns: the mode of this thread and the check. Must not know: the compiler.
#pragma once

#include <cstdint>

#include <ingot/kernels/core/error.h>

namespace ingot {

enum class Anomaly : std::uint8_t { off, nan, nan_or_inf, unset };
// Unset until this thread asks for its mode: it is then what INGOT_DETECT_ANOMALY says.
extern constinit thread_local Anomaly t_anomaly;
Anomaly anomaly_mode();

// While one lives, every op of this thread whose result holds a NaN (or, on request, an infinity)
// throws an Error with the op, the place of the first bad element, the operands' ranges and the
// line: in backward() that of the forward op. Creation and ops that only move a NaN (copies, casts,
// indexing) are not blamed. The op has run: what it writes in place is written.
// Compiled functions run op by op meanwhile. Every result is read, so this is slow.
// INGOT_DETECT_ANOMALY=1 (or inf) is a guard around the whole program, on all threads.
class AnomalyGuard {
 public:
  [[nodiscard]] explicit AnomalyGuard(bool check_inf = false, Loc loc = Loc::here());
  ~AnomalyGuard() { t_anomaly = was_; }
  AnomalyGuard(const AnomalyGuard&) = delete;

 private:
  Anomaly was_;
};

struct Call;
class Tensor;
// Throws as the mode of this thread says.
void check_anomaly(const Call& call, const Tensor* out);

}  // namespace ingot
