#include <algorithm>
#include <memory>
#include <mutex>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/ops/registry.h>
#include <ingot/kernels/ops/user_row.h>

namespace ingot {

namespace {

bool is_identifier(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9');
  });
}

}  // namespace

const ChosenLoop* chosen_loop(const OpInfo& op, DType compute) {
  const auto at = static_cast<std::size_t>(compute);
  const UserRow& row = *op.user;
  if (row.unit_loops[at] == nullptr) return nullptr;
  const ChosenLoop* chosen = row.chosen[at].load(std::memory_order_acquire);
  if (chosen != nullptr) [[likely]]
    return chosen;
  std::unique_ptr<const ChosenLoop> mine(row.choose(op, compute));
  // Whoever comes first decides for all: the bits never change while the process lives.
  if (row.chosen[at].compare_exchange_strong(chosen, mine.get(), std::memory_order_acq_rel)) {
    return mine.release();
  }
  return chosen;
}

void register_user_row(const OpInfo& op) {
  static std::mutex mutex;
  static auto* const known = new std::vector<const OpInfo*>;
  const UserRow& row = *op.user;
  INGOT_CHECK(is_identifier(op.name),
              "op<{}>: the row's name \"{}\" is no identifier (letters, digits and _)",
              row.text.type, op.name);
  INGOT_CHECK(find_op(op.name) == nullptr, "op<{}>: the name \"{}\" is that of a built-in op",
              row.text.type, op.name);
  const std::lock_guard lock(mutex);
  for (const OpInfo* other : *known) {
    if (std::string_view(other->name) != op.name) continue;
    const RowText& theirs = other->user->text;
    // The same row again, from another shared object or another unit's unnamed namespace.
    if (theirs.body == row.text.body && std::string_view(theirs.type) == row.text.type) continue;
    INGOT_CHECK(false, "op<{}>: the name \"{}\" is taken by another row, struct {}", row.text.type,
                op.name, theirs.type);
  }
  known->push_back(&op);
}

}  // namespace ingot
