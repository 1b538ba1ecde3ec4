// Brings the environment's settings (threads, instruction set) to the kernels, once, before the
// first of them runs. Must not know: what they do.
#pragma once

namespace ingot {

void apply_env();

}  // namespace ingot
