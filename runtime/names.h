// Names that stay for the life of the process, as events need them.
// Owns: one table of them; the same text gives the same pointer. Takes a lock: for names that are
// made once, not for each call. Must not know: who names what.
#pragma once

#include <string>

namespace ingot {

const char* intern(std::string name);

}  // namespace ingot
