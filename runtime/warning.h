// Warnings: what is allowed and hardly ever meant.
// Owns: that each is said once a place. Internal. Must not know: ops.
#pragma once

#include <string>

#include <ingot/kernels/core/error.h>

namespace ingot {

// "ingot: warning: mse_loss: <text>; at net.cpp:14" on stderr, the first time for this op and line.
void warn_once(const char* op, Loc loc, const std::string& text);

}  // namespace ingot
