// What all compiled functions of the process share: their list, and the stance.
// Owns: both. Must not know: frames, plans.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ingot/compiler/ledger.h>
#include <ingot/compiler/options.h>

namespace ingot::compiler {

class FunctionState;

// The function is listed until delist() of the number that enlist() gave it.
void enlist(const std::shared_ptr<FunctionState>& function);
void delist(std::uint64_t number);

}  // namespace ingot::compiler
