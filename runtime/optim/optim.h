// All of optim in one include.
// Owns: the list of its public headers; each states its formulas and where they come from.
// Must not know: anything else.
#pragma once

#include <ingot/runtime/optim/adam.h>
#include <ingot/runtime/optim/sgd.h>
