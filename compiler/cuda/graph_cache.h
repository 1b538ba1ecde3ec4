// The CUDA graphs of one plan, by everything that a launch bakes in: addresses and host numbers.
// Owns: recorded graphs, which of them are kept and which get new parameters. Must not know: steps.
//
// A call whose words were seen before is recorded, and from then on one launch. One with other
// words updates the graph that was used longest ago; calls that never repeat share one graph in
// this way. Where memory runs out the graphs of all caches of that device are given up, with the
// scratch memory that they hold, but for caches that another thread is in.
#pragma once

#include <array>
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
  // calls of the plan on one device. What `launches` throws while nothing runs is no error: they
  // are run for real then. *failed_step is 0 when a graph's launch throws: no step has run.
  void run(const std::vector<std::uint64_t>& words, const Launches& launches, int* failed_step);

  GraphUse use() const;

  // Gives up the graphs unless this or another thread is inside run(). What still runs is finished.
  void drop(Device device) noexcept;

 private:
  struct Instance {
    std::uint64_t hash = 0;
    std::vector<std::uint64_t> words;
    std::unique_ptr<cuda::Graph> graph;
    std::vector<GraphPart> parts;
    std::uint64_t id = 0, used = 0;
  };
  static constexpr std::size_t kMostInstances = 8;
  static constexpr int kMissesBeforeGraph = 4;
  static constexpr int kFailuresInARow = 3;
  // Plans with a library's kernels are recorded again for an update, which takes as long as two or
  // three launches.
  static constexpr std::size_t kWorthRecordingAgain = 3;
  // Runs without graphs after they were dropped, or without a try to record after failures.
  static constexpr std::uint64_t kFirstPause = 16;
  static constexpr std::uint64_t pause(int before) {
    return kFirstPause << (before < 20 ? before : 20);
  }

  bool run_graph(const std::vector<std::uint64_t>& words, const Launches& launches,
                 int* failed_step);
  bool seen(std::uint64_t hash);
  bool record(std::uint64_t hash, const std::vector<std::uint64_t>& words,
              const Launches& launches);
  bool update(std::uint64_t hash, const std::vector<std::uint64_t>& words,
              const Launches& launches);
  bool may_update() const;
  std::vector<Instance>::iterator oldest();
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
  int failed_records_ = 0,
      failed_updates_ = 0;  // in a row; after some, updates are not tried again
  int drops_ = 0;
  std::uint64_t paused_until_ = 0, record_again_ = 0;  // of uses_
};

}  // namespace ingot::compiler
