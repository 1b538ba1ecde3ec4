// The CUDA graphs of one plan, by everything that a launch bakes in: addresses and host numbers.
// Owns: recorded graphs, which of them are kept and which get new parameters. Must not know: steps.
//
// A call whose words were seen before is recorded, and from then on one launch. One with other
// words updates the graph that was used longest ago; calls that never repeat share one graph in
// this way, or one for each way in which their addresses are aligned: a library chooses its kernels
// by that. Where updates take the host longer than the launches they spare, they are left. Where
// memory runs out the graphs of all caches of that device are given up, with the
// scratch memory that they hold, but for caches that another thread is in.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <ingot/compiler/ledger.h>
#include <ingot/compiler/step_note.h>
#include <ingot/kernels/cuda/graph.h>
#include <ingot/runtime/observer.h>

namespace ingot::compiler {

class GraphCache {
 public:
  // Launches the plan's steps one by one; given a list, adds the nodes recorded after each step.
  using Launches = std::function<void(std::vector<int>* nodes)>;

  using Record = std::unique_ptr<cuda::Graph> (*)(const std::function<void()>& launches);

  // device: that of all steps.
  GraphCache(std::vector<StepNote> notes, Device device, Record record = &cuda::Graph::record);
  ~GraphCache();
  GraphCache(const GraphCache&) = delete;

  // Runs `launches`, or a graph that stands for them. Words must be all that differs between two
  // calls of the plan on one device; the first `places` of them are addresses, or bytes added to
  // one. What `launches` throws while nothing runs is no error: they are run for real then.
  // *failed_step is 0 when a graph's launch throws: no step has run.
  void run(const std::vector<std::uint64_t>& words, std::size_t places, const Launches& launches,
           int* failed_step);

  GraphUse use() const;

  // Gives up the graphs unless this or another thread is inside run(). What still runs is finished.
  void drop(Device device) noexcept;

 private:
  struct Instance {
    std::uint64_t hash = 0, alignment = 0;
    std::vector<std::uint64_t> words;
    std::unique_ptr<cuda::Graph> graph;
    std::vector<GraphPart> parts;
    std::uint64_t id = 0, used = 0;
  };
  using Place = std::vector<Instance>::iterator;
  // A call that no graph was recorded for.
  struct Miss {
    const std::vector<std::uint64_t>& words;
    std::uint64_t hash, alignment;
  };
  // Host nanoseconds: the least that was seen lately.
  class Cost {
   public:
    void add(double ns);
    double ns() const { return ns_; }
    int n() const { return n_; }

   private:
    double ns_ = 0;
    int n_ = 0;
  };
  static constexpr std::size_t kMostInstances = 8;
  static constexpr int kMissesBeforeGraph = 4;
  static constexpr int kFailuresInARow = 3;
  // A graph that was not used for so many runs makes room for another.
  static constexpr std::uint64_t kIdle = 64;
  // The first updates teach a graph where addresses lie: they say nothing of the later ones. Where
  // they are left, one is tried now and then.
  static constexpr int kUpdatesToLearn = 8;
  static constexpr std::uint64_t kTryAgain = 64;
  // Runs without graphs after they were dropped, or without a try to record after failures.
  static constexpr std::uint64_t kFirstPause = 16;
  static constexpr std::uint64_t pause(int before) {
    return kFirstPause << (before < 20 ? before : 20);
  }

  bool run_graph(const std::vector<std::uint64_t>& words, std::size_t places,
                 const Launches& launches, int* failed_step);
  bool seen(std::uint64_t hash);
  bool none_is_aligned(std::uint64_t alignment) const;
  bool often_missed(std::uint64_t alignment);
  bool record(const Miss& miss, const Launches& launches);
  bool make_room();
  bool update(const Miss& miss, Place place, const Launches& launches, int* failed_step);
  Place to_update(std::uint64_t alignment);
  bool updates_pay() const;
  Place oldest();
  void launch(Instance& instance, int* failed_step);

  const std::vector<StepNote> notes_;
  const Device device_;
  const Record record_;
  mutable std::mutex mutex_;
  GraphUse use_;
  std::vector<Instance> instances_;
  std::array<std::uint64_t, 32> recent_{};  // hashes of words without a graph
  std::size_t next_recent_ = 0;
  std::uint64_t uses_ = 0;
  int misses_ = 0;
  std::array<int, 16> misses_of_alignment_{};
  int failed_records_ = 0,
      failed_updates_ = 0;   // in a row; after some, updates are not tried again
  bool kept_apart_ = false;  // an update failed: only graphs of the same alignment are updated
  Cost update_cost_;         // of an update and the launch
  std::atomic<float> steps_cost_{0};  // of the steps one by one
  int drops_ = 0;
  std::uint64_t paused_until_ = 0, record_again_ = 0;  // of uses_
};

}  // namespace ingot::compiler
