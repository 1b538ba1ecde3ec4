// What all compiled functions of the process share: the list of their entries, and the stance.
// Owns: both. Must not know: frames, plans.
#pragma once

#include <memory>
#include <vector>

#include <ingot/compiler/ledger.h>
#include <ingot/compiler/options.h>

namespace ingot::compiler {

class Entry;

// The entry is listed while it lives.
void enlist(const std::shared_ptr<Entry>& entry);

}  // namespace ingot::compiler
