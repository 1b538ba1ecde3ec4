// All of nn in one include.
// Owns: the list of its public headers. Modules are written with INGOT_MODULE (nn/module.h) and
// called through handles (nn/handle.h). Must not know: anything else.
#pragma once

#include <ingot/runtime/nn/activations.h>
#include <ingot/runtime/nn/clip_grad.h>
#include <ingot/runtime/nn/layers.h>
#include <ingot/runtime/nn/sequential.h>
