// Ingot: eager tensors, compile(), a profiler. The one header that a program includes, as
// <ingot/ingot.h>. It pulls in the public headers and the standard library, nothing else.
#pragma once

#include <ingot/compiler/compile.h>
#include <ingot/compiler/user_op.h>
#include <ingot/profiler/profiler.h>
#include <ingot/runtime/allocator.h>
#include <ingot/runtime/anomaly.h>
#include <ingot/runtime/config.h>
#include <ingot/runtime/data/data.h>
#include <ingot/runtime/generator.h>
#include <ingot/runtime/grad_mode.h>
#include <ingot/runtime/gradcheck.h>
#include <ingot/runtime/nn/nn.h>
#include <ingot/runtime/ops.h>
#include <ingot/runtime/optim/optim.h>
#include <ingot/runtime/stream.h>
