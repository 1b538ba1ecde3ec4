#include "cuda_on_host/grid.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include <ingot/kernels/cpu/parallel.h>

#include "cuda_on_host/fibre.h"

namespace ingot::emulation {

constinit thread_local Index3 t_thread, t_block, t_block_size, t_grid_size;

std::string to_string(const Place& place) {
  std::string file = place.file;
  for (const char* root : {"kernels/cuda/", "tests/cuda_on_host/"}) {
    const std::size_t at = file.rfind(root);
    if (at != std::string::npos) file = file.substr(at);
  }
  return fmt::format("{}:{}", file, place.line);
}

namespace {

// What hardware and the launch rules allow.
constexpr unsigned kMostThreads = 1024, kMostShared = 48 << 10;
// A grid with fewer threads than this is not worth waking others for.
constexpr std::int64_t kThreadsForPool = 1 << 16;
constexpr unsigned char kGuardByte = 0xd7;
constexpr std::size_t kSharedGuard = 256;

thread_local Order t_order = Order::ascending;
thread_local Launch t_last{};
std::atomic<std::int64_t> g_launches{0};

enum class Wait : std::uint8_t { no, block, warp };

struct Thread {
  Fibre* fibre = nullptr;
  Wait wait = Wait::no;
  bool ended = false;
  Place place;
  unsigned mask = 0;
  std::uint64_t value = 0, result = 0;
  int source = 0;
};

// The lanes of a warp that wait for each other: one entry for each mask in use.
struct WarpGroup {
  unsigned mask, here;
};

// One block at a time on one OS thread. Fibres and their stacks are kept from block to block.
class Block {
 public:
  void run(const Launch& launch, std::int64_t block, Order order, void (*body)(void*),
           void* context) {
    launch_ = &launch;
    order_ = order;
    body_ = body;
    context_ = context;
    size_ = launch.threads;
    t_block.x = static_cast<unsigned>(block);
    t_block_size = {size_, 1, 1};
    t_grid_size = {static_cast<unsigned>(launch.blocks), 1, 1};
    threads_.assign(size_, {});
    groups_.assign((size_ + kWarpSize - 1) / kWarpSize, {});
    ready_.clear();
    ready_.reserve(size_);
    taken_ = started_ = ended_ = waiting_ = counted_ = 0;
    error_ = nullptr;
    fill_shared();
    running_ = true;
    main_.switch_to(next());
    running_ = false;
    if (error_ == nullptr && ended_ < size_) error_ = std::make_exception_ptr(deadlock());
    if (error_ != nullptr) {
      // Threads that still wait sit on their fibres; nobody will run these again.
      idle_.clear();
      fibres_.clear();
      std::rethrow_exception(error_);
    }
    check_shared();
  }

  bool running() const { return running_; }
  unsigned lane() const { return t_thread.x % kWarpSize; }
  void* shared() { return shared_.data() + kSharedGuard; }

  int sync(bool value, Place place) {
    Thread& me = threads_[t_thread.x];
    if (waiting_ == 0) {
      barrier_ = place;
    } else if (!(place == barrier_)) {
      throw error(fmt::format("thread {} is at the barrier of {} while {} wait at that of {}",
                              t_thread.x, to_string(place), waiting_, to_string(barrier_)));
    }
    counted_ += value ? 1 : 0;
    if (++waiting_ == size_) {
      waiting_ = 0;
      result_ = counted_;
      counted_ = 0;
      for (unsigned i = 0; i < size_; ++i) {
        if (threads_[i].wait == Wait::block) release(i);
      }
      return result_;
    }
    wait(me, Wait::block, place);
    return result_;
  }

  std::uint64_t exchange(unsigned mask, std::uint64_t value, int source, bool vote, Place place) {
    const unsigned warp = t_thread.x / kWarpSize, bit = 1u << lane();
    Thread& me = threads_[t_thread.x];
    // Lanes beyond the block's end do not exist; nobody waits for them.
    const unsigned lanes = std::min(kWarpSize, size_ - warp * kWarpSize);
    if (lanes < kWarpSize) mask &= (1u << lanes) - 1;
    if ((mask & bit) == 0) {
      throw error(fmt::format("thread {}: its lane is not in the mask {:#x} at {}", t_thread.x,
                              mask, to_string(place)));
    }
    if (!vote && (mask >> source & 1u) == 0) {
      throw error(fmt::format("thread {} reads from lane {}, which is not in the mask {:#x}, at {}",
                              t_thread.x, source, mask, to_string(place)));
    }
    me.value = value;
    me.source = source;
    me.mask = mask;
    WarpGroup* group = nullptr;
    for (WarpGroup& g : groups_[warp]) {
      if (g.mask == mask) group = &g;
    }
    if (group == nullptr) group = &groups_[warp].emplace_back(WarpGroup{mask, 0});
    if (group->here == 0) {
      // Whoever comes first says where.
    } else if (const Thread& first = threads_[warp * kWarpSize +
                                              static_cast<unsigned>(std::countr_zero(group->here))];
               !(first.place == place)) {
      throw error(fmt::format("thread {} is at {} while its warp waits at {}", t_thread.x,
                              to_string(place), to_string(first.place)));
    }
    group->here |= bit;
    if (group->here != mask) {
      wait(me, Wait::warp, place);
      return me.result;
    }
    group->here = 0;
    Thread* lane0 = &threads_[warp * kWarpSize];
    std::uint64_t votes = 0;
    for (unsigned l = 0; l < lanes; ++l) {
      if ((mask >> l & 1u) != 0 && lane0[l].value != 0) votes |= std::uint64_t{1} << l;
    }
    for (unsigned l = 0; l < lanes; ++l) {
      if ((mask >> l & 1u) == 0) continue;
      lane0[l].result = vote ? votes : lane0[lane0[l].source].value;
      if (lane0[l].wait == Wait::warp) release(warp * kWarpSize + l);
    }
    return me.result;
  }

 private:
  void release(unsigned thread) {
    threads_[thread].wait = Wait::no;
    ready_.push_back(thread);
  }

  void wait(Thread& me, Wait kind, Place place) {
    const unsigned thread = t_thread.x;
    Fibre* fibre = current_;
    me.fibre = fibre;
    me.wait = kind;
    me.place = place;
    fibre->switch_to(next());
    t_thread.x = thread;
    current_ = fibre;
  }

  // Who runs next: a thread that was released, else one that has not started, else the end.
  Fibre& next() {
    if (error_ == nullptr && taken_ < ready_.size()) {
      const unsigned thread = ready_[taken_++];
      if (taken_ == ready_.size()) {
        ready_.clear();
        taken_ = 0;
      }
      return *threads_[thread].fibre;
    }
    if (error_ != nullptr || started_ == size_) return main_;
    if (idle_.empty()) {
      fibres_.push_back(std::make_unique<Fibre>(&Block::fibre_entry, this));
      idle_.push_back(fibres_.back().get());
    }
    Fibre* fibre = idle_.back();
    idle_.pop_back();
    entering_ = fibre;
    return *fibre;
  }

  static void fibre_entry(void* self) {
    Block& block = *static_cast<Block*>(self);
    while (true) {
      Fibre* fibre = block.entering_;
      block.current_ = fibre;
      block.run_threads();
      block.idle_.push_back(fibre);
      // next() takes this fibre only for threads that have not started, and there run_threads()
      // would have gone on.
      fibre->switch_to(block.next());
    }
  }

  // Threads in turn, until others are ready to go on or none is left.
  void run_threads() {
    while (started_ < size_ && taken_ == ready_.size() && error_ == nullptr) {
      const unsigned place = started_++;
      const unsigned thread = order_ == Order::ascending ? place : size_ - 1 - place;
      t_thread.x = thread;
      try {
        body_(context_);
      } catch (...) {
        if (error_ == nullptr) error_ = std::current_exception();
        return;
      }
      threads_[t_thread.x].ended = true;
      ++ended_;
    }
  }

  KernelError error(const std::string& text) const {
    return KernelError(fmt::format("the kernel that {} launches at {}, block {} of {}: {}",
                                   launch_->function, to_string(launch_->place), t_block.x,
                                   launch_->blocks, text));
  }

  KernelError deadlock() const {
    int at_block = 0, at_warp = 0, first_block = -1, first_warp = -1, first_ended = -1;
    for (unsigned i = 0; i < size_; ++i) {
      const Thread& t = threads_[i];
      if (t.wait == Wait::block && at_block++ == 0) first_block = static_cast<int>(i);
      if (t.wait == Wait::warp && at_warp++ == 0) first_warp = static_cast<int>(i);
      if (t.ended && first_ended < 0) first_ended = static_cast<int>(i);
    }
    std::string text = fmt::format("of {} threads", size_);
    if (at_block > 0) {
      text += fmt::format(" {} wait at the barrier of {} (thread {} the first),", at_block,
                          to_string(barrier_), first_block);
    }
    if (at_warp > 0) {
      const Thread& t = threads_[static_cast<unsigned>(first_warp)];
      text += fmt::format(" {} wait for their warp (thread {} at {}, mask {:#x}),", at_warp,
                          first_warp, to_string(t.place), t.mask);
    }
    text += fmt::format(" {} have ended", ended_);
    if (first_ended >= 0) text += fmt::format(" (thread {} the first)", first_ended);
    return error(text);
  }

  // Garbage at the start, as on a GPU, with zones around it that must stay as they are.
  void fill_shared() {
    shared_.resize(launch_->shared + 2 * kSharedGuard);
    std::memset(shared_.data(), kGuardByte, shared_.size());
    std::memset(shared_.data() + kSharedGuard, 0xff, launch_->shared);
  }
  void check_shared() const {
    for (std::size_t i = 0; i < shared_.size(); ++i) {
      const bool inside = i >= kSharedGuard && i < kSharedGuard + launch_->shared;
      if (inside || shared_[i] == kGuardByte) continue;
      throw error(fmt::format("byte {} of {} bytes of shared memory was written",
                              static_cast<std::int64_t>(i) - std::int64_t{kSharedGuard},
                              launch_->shared));
    }
  }

  Fibre main_;
  std::vector<std::unique_ptr<Fibre>> fibres_;
  std::vector<Fibre*> idle_;
  Fibre *current_ = nullptr, *entering_ = nullptr;

  const Launch* launch_ = nullptr;
  Order order_ = Order::ascending;
  void (*body_)(void*) = nullptr;
  void* context_ = nullptr;
  unsigned size_ = 0, started_ = 0, ended_ = 0, waiting_ = 0;
  int counted_ = 0, result_ = 0;
  bool running_ = false;
  Place barrier_;
  std::vector<Thread> threads_;
  std::vector<std::vector<WarpGroup>> groups_;
  std::vector<unsigned> ready_;
  std::size_t taken_ = 0;
  std::exception_ptr error_;
  std::vector<unsigned char> shared_;
};

// Not shared by compilers' idea of one thread: a fibre asks again after each switch.
[[gnu::noinline]] Block& this_block() {
  static thread_local Block block;
  return block;
}

void check(const Launch& launch) {
  const auto fail = [&](const std::string& text) {
    throw KernelError(
        fmt::format("{} launches at {}: {}", launch.function, to_string(launch.place), text));
  };
  if (launch.blocks < 0 || launch.blocks > 0x7fffffff) {
    fail(fmt::format("{} blocks", launch.blocks));
  }
  if (launch.threads == 0 || launch.threads > kMostThreads) {
    fail(fmt::format("{} threads a block", launch.threads));
  }
  if (launch.shared > kMostShared) fail(fmt::format("{} bytes of shared memory", launch.shared));
}

}  // namespace

void set_order(Order order) { t_order = order; }
std::int64_t launches() { return g_launches.load(); }
const Launch& last_launch() { return t_last; }

void run_grid(const Launch& launch, void (*body)(void*), void* context) {
  check(launch);
  if (launch.blocks == 0) return;
  t_last = launch;
  g_launches.fetch_add(1);
  const Order order = t_order;
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    t_last = launch;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t block = order == Order::ascending ? i : launch.blocks - 1 - i;
      this_block().run(launch, block, order, body, context);
    }
  };
  const std::int64_t grain = std::max<std::int64_t>(1, kThreadsForPool / launch.threads / 4);
  if (launch.blocks * launch.threads < kThreadsForPool) {
    run(0, launch.blocks);
  } else {
    parallel_for(launch.blocks, grain, run);
  }
}

void sync_block(Place place) { this_block().sync(false, place); }
int count_in_block(bool value, Place place) { return this_block().sync(value, place); }
std::uint64_t exchange(unsigned mask, std::uint64_t value, int source, Place place) {
  return this_block().exchange(mask, value, source, false, place);
}
unsigned ballot(unsigned mask, bool value, Place place) {
  return static_cast<unsigned>(this_block().exchange(mask, value ? 1 : 0, 0, true, place));
}
unsigned lane_id() { return this_block().lane(); }
void* dynamic_shared() { return this_block().shared(); }

}  // namespace ingot::emulation
