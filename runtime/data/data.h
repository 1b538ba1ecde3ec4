// All of data in one include.
// Owns: the list of its public headers: files into a Dataset, a Dataset into batches.
// Must not know: anything else.
#pragma once

#include <ingot/runtime/data/csv.h>
#include <ingot/runtime/data/idx.h>
#include <ingot/runtime/data/loader.h>
