// The bytes that a thread writes while a window is open: records of variable size.
// Owns: their layout, the reader's side (for_each_record). Records live in memory only and never
// leave the process. Must not know: threads, sessions, what is made of the records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <ingot/kernels/ops/op_info.h>

namespace ingot::profiler {

enum class RecordType : std::uint8_t {
  begin,
  end,  // of the innermost event that is no record_function
  memory,
  range_end,  // of a record_function, by its id: of this thread or another one, in any order
  overhead,   // the recorder's own work between two events: more memory
};

// What follows a BeginRecord, in this order.
enum Part : std::uint8_t {
  kCost = 1,    // Cost
  kId = 2,      // u64: a record_function, which ends by its id
  kShapes = 4,  // BeginRecord::n_shapes times a ShapeHead and n_dims * i64
  kFused = 8,   // text
  kText = 16,   // text: the name, instead of BeginRecord::name
  kGraph = 32,  // a GraphRecord, and n_parts times a PartRecord and its text `fused_from`
};

// RecordHead::kind of an end: the event was a compiled call that missed, see
// Observer::end_missed().
inline constexpr std::uint8_t kMissed = 1;

struct RecordHead {
  RecordType type;
  std::uint8_t kind;  // EventKind; of an end 0 or kMissed
  std::uint8_t parts;
  std::uint8_t n_shapes;
  std::uint32_t bytes;  // of the whole record, a multiple of 8
  std::uint64_t ticks;
};

struct BeginRecord {
  RecordHead head;
  const char* name;
  const char* file;
  const OpInfo* op;  // identity only
  std::int32_t line;
  std::int8_t device;  // of a kernel: a GPU's number; kNoGpu: the host
  std::uint8_t dtype;  // of a kernel's first operand; kNoDType: unknown
  bool is_product;     // a kernel's op is a matrix product
  std::uint8_t fate;   // Fate, set by link_ends() as is
  std::uint64_t end_ticks;
};
// What became of an event.
enum Fate : std::uint8_t {
  kNestsNowhere = 1,    // nests neither in what it began in nor around what began in it
  kWasOpen = 2,         // was open when the window closed
  kEndedElsewhere = 4,  // ended on another thread
  kLeftItsPath = 8,     // a compiled call that missed
};
inline constexpr std::int8_t kNoGpu = -1;
inline constexpr std::uint8_t kNoDType = 255;

// A CUDA graph that is launched. Its parts are told once, and where the log had no room for that
// never.
struct GraphRecord {
  std::uint64_t id, n_parts;
};
struct PartRecord {
  const char* name;
  const char* file;
  std::int32_t line, nodes;
  Cost cost;
};

// What a GPU's work carries to name the event that launched it: the window, the thread, and how
// many events of the thread were recorded before.
constexpr std::uint64_t launch_id(std::uint64_t window, int thread, std::uint32_t event) {
  return (window & 0xFFF) << 52 | (static_cast<std::uint64_t>(thread) & 0xFFFFF) << 32 | event;
}

struct ShapeHead {
  std::uint8_t dtype;
  std::uint8_t n_dims;  // kNoDims: a host scalar or an operand left out
  std::uint8_t pad[6];
};
inline constexpr std::uint8_t kNoDims = 255;

struct MemoryRecord {
  RecordHead head;
  Device device;
  std::uint64_t address;
  std::int64_t bytes, allocated, reserved;
};

struct OverheadRecord {
  RecordHead head;
  std::uint64_t end_ticks;
};

struct RangeEndRecord {
  RecordHead head;  // parts: whether it ends what nests on its own thread, set by link_ends()
  std::uint64_t id;
};

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) & ~std::size_t{7}; }

// Text is a u64 length and the bytes. Longer text is cut at a character's edge and ends in "...".
inline constexpr std::size_t kMaxText = 1000;
constexpr std::size_t text_room(std::size_t length) {
  return sizeof(std::uint64_t) + padded(length <= kMaxText ? length : kMaxText + 3);
}
std::byte* write_text(std::byte* at, std::string_view text);
// What is left of a text that was recorded.
std::string recorded_text(std::string_view text);

// Reads what was written at `at` and moves on.
template <class T>
T take(const std::byte*& at) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(static_cast<void*>(&value), at, sizeof(T));
  at += sizeof(T);
  return value;
}
std::string_view take_text(const std::byte*& at);

// All records of one thread and window, copied out of its chunks.
using Bytes = std::vector<std::byte>;

// Calls f(const RecordHead&, const std::byte* record) for each record in order.
template <class F>
void for_each_record(const Bytes& bytes, F&& f) {
  for (std::size_t i = 0; i < bytes.size();) {
    const std::byte* at = bytes.data() + i;
    auto head = take<RecordHead>(at);
    f(head, bytes.data() + i);
    i += head.bytes;
  }
}

}  // namespace ingot::profiler
