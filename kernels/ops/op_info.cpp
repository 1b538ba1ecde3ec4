#include <ingot/kernels/ops/op_info.h>

namespace ingot {

double bytes_touched(const OpArgs& args, const Meta* out, int n_out) {
  double bytes = 0;
  auto add = [&](const Meta& m) { bytes += static_cast<double>(m.numel()) * item_size(m.dtype); };
  for (int i = 0; i < args.n_in; ++i) {
    if (args.has(i)) add(args[i]);
  }
  for (int i = 0; i < n_out; ++i) add(out[i]);
  return bytes;
}

}  // namespace ingot
