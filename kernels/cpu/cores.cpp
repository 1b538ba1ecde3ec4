#include <algorithm>
#include <fstream>
#include <sched.h>
#include <set>
#include <string>
#include <thread>

#include <ingot/kernels/cpu/parallel.h>

namespace ingot {
namespace {

#if defined(__linux__)

// The lowest hardware thread of the core that `cpu` belongs to; `cpu` itself where the kernel does
// not say.
int core_of(int cpu) {
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                     "/topology/thread_siblings_list");
  int first = cpu;
  return file >> first ? first : cpu;
}

// Cores by affinity; 0 when the mask cannot be read.
int cores_by_affinity() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 0;
  std::set<int> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cores.insert(core_of(cpu));
  }
  return static_cast<int>(cores.size());
}

// A container's share of processor time, in whole cores rounded up; 0 for no limit. The file holds
// "quota period" in microseconds, or "max period" (Linux, cgroup v2).
int cores_by_quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;
  if (!(file >> quota >> period) || period <= 0) return 0;
  return std::max(1, static_cast<int>((quota + period - 1) / period));
}

#endif

}  // namespace

int available_cores() {
  int cores = 0;
#if defined(__linux__)
  cores = cores_by_affinity();
  if (const int quota = cores_by_quota(); quota > 0 && cores > 0) cores = std::min(cores, quota);
#endif
  if (cores == 0) cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::max(cores, 1);
}

}  // namespace ingot
