#include <algorithm>
#include <cstdlib>
#include <cxxabi.h>
#include <string>

#include <ingot/profiler/attach_gpu.h>
#include <ingot/profiler/cuda/read_records.h>

namespace ingot::profiler {
namespace {

const char* memory_name(unsigned kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
      return "Pageable";
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return "Pinned";
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
      return "Device";
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
      return "Array";
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
      return "Managed";
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
      return "Device Static";
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
      return "Managed Static";
    default:
      return "Unknown";
  }
}

const char* copy_name(unsigned kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "HtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "DtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "DtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return "HtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "PtoP";
    default:
      return "Other";
  }
}

const char* overhead_name(CUpti_ActivityOverheadKind kind) {
  // Compared as numbers: headers of older toolkits do not name all of them.
  switch (static_cast<int>(kind)) {
    case 1:
      return "Driver Compiler";
    case 1 << 16:
      return "Buffer Flush";
    case 2 << 16:
      return "Instrumentation";
    case 3 << 16:
      return "Resource";
    case 4 << 16:
      return "Runtime Triggered Module Loading";
    case 5 << 16:
      return "Lazy Function Loading";
    case 6 << 16:
      return "Command Buffer Full";
    case 7 << 16:
      return "Activity Buffer Request";
    default:
      return "Overhead";
  }
}

const char* wait_name(CUpti_ActivitySynchronizationType type) {
  switch (type) {
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE:
      return "Event Synchronize";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT:
      return "Stream Wait Event";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE:
      return "Stream Synchronize";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE:
      return "Context Synchronize";
    default:
      return "Synchronize";
  }
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  });
}

// "__cudaLaunchKernel_v13000" -> "cudaLaunchKernel"; readers of traces know the plain names.
std::string plain_call(std::string name) {
  while (name.starts_with('_')) name.erase(0, 1);
  if (!name.starts_with("cuda")) return name;
  for (std::string_view end : {"_ptsz", "_ptds"}) {
    if (name.ends_with(end)) name.resize(name.size() - end.size());
  }
  const std::size_t version = name.rfind("_v");
  if (version != std::string::npos &&
      name.find_first_not_of("0123456789", version + 2) == std::string::npos) {
    name.resize(version);
  }
  return name;
}

// Calls that take no time and wait for nothing would only fill the lanes.
bool is_of_interest(std::string_view name, bool driver) {
  if (contains_any(name, {"Launch", "Memcpy", "Memset", "Synchronize", "Malloc", "MemAlloc", "Free",
                          "GraphInstantiate", "GraphExec", "Capture", "ModuleLoad", "LibraryLoad",
                          "WaitEvent", "StreamCreate", "HostAlloc", "HostRegister"})) {
    return !contains_any(name,
                         {"GetParam", "Attribute", "CaptureInfo", "IsCapturing", "LinkCreate"});
  }
  return !driver && contains_any(name, {"EventRecord", "CtxCreate", "InitDevice"});
}

template <class F>
void each_record(std::uint8_t* buffer, std::size_t bytes, F&& f) {
  CUpti_Activity* record = nullptr;
  while (cupti().next_record(buffer, bytes, &record) == CUPTI_SUCCESS) f(*record);
}

}  // namespace

void count_dropped(std::uint8_t* buffer, std::size_t bytes, GpuRecords& counts) {
  GpuRecords records;
  RecordReader reader(records);
  std::uint64_t all = 0;
  each_record(buffer, bytes, [&](const CUpti_Activity& r) {
    ++all;
    reader.add(r);
  });
  std::uint64_t work = records.dropped_work, launches = 0, graphs = 0;
  for (const GpuWork& w : records.work) {
    work += w.kind == WorkKind::kernel || w.graph_node != 0 ? 1 : 0;
  }
  for (const ApiCall& c : records.calls) {
    launches += launches_kernel(c.name) ? 1 : 0;
    graphs += launches_graph(c.name) ? 1 : 0;
  }
  counts.dropped_work += work;
  counts.dropped_launches += launches;
  counts.dropped_graphs += graphs;
  counts.dropped_other += all - work - launches - graphs;
}

void RecordReader::read(std::uint8_t* buffer, std::size_t bytes) {
  each_record(buffer, bytes, [&](const CUpti_Activity& record) { add(record); });
}

// A newer library's records are longer, with the same beginnings.
void RecordReader::add(const CUpti_Activity& record) {
  const auto as = [&]<class T>(const T*) -> const T& {
    return *reinterpret_cast<const T*>(&record);
  };
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return add_kernel(as(static_cast<const CUpti_ActivityKernel9*>(nullptr)));
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return add_copy(as(static_cast<const CUpti_ActivityMemcpy5*>(nullptr)));
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return add_set(as(static_cast<const CUpti_ActivityMemset4*>(nullptr)));
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return add_call(as(static_cast<const CUpti_ActivityAPI*>(nullptr)), false);
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return add_call(as(static_cast<const CUpti_ActivityAPI*>(nullptr)), true);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& link = as(static_cast<const CUpti_ActivityExternalCorrelation*>(nullptr));
      out_.links.push_back({link.correlationId, link.externalId});
      return;
    }
    case CUPTI_ACTIVITY_KIND_OVERHEAD: {
      const auto& o = as(static_cast<const CUpti_ActivityOverhead*>(nullptr));
      int tid = 0;
      if (o.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD) {
        tid = static_cast<int>(o.objectId.pt.threadId);
      }
      out_.overheads.push_back({overhead_name(o.overheadKind), static_cast<std::int64_t>(o.start),
                                static_cast<std::int64_t>(o.end), tid});
      return;
    }
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: {
      const auto& w = as(static_cast<const CUpti_ActivitySynchronization*>(nullptr));
      const bool of_stream = w.streamId != CUPTI_SYNCHRONIZATION_INVALID_VALUE;
      out_.waits.push_back({wait_name(w.type), static_cast<std::int64_t>(w.start),
                            static_cast<std::int64_t>(w.end),
                            of_stream ? static_cast<int>(w.streamId) : -1, w.correlationId,
                            static_cast<int>(w.contextId)});
      return;
    }
    default:
      return;
  }
}

void RecordReader::add_kernel(const CUpti_ActivityKernel9& k) {
  GpuWork& w = out_.work.emplace_back();
  w.kind = WorkKind::kernel;
  w.name = kernel_name(k.name);
  w.begin = static_cast<std::int64_t>(k.start);
  w.end = static_cast<std::int64_t>(k.end);
  w.device = static_cast<int>(k.deviceId);
  w.context = static_cast<int>(k.contextId);
  w.stream = static_cast<int>(k.streamId);
  w.correlation = k.correlationId;
  w.graph_node = k.graphNodeId;
  const int grid[] = {k.gridX, k.gridY, k.gridZ}, block[] = {k.blockX, k.blockY, k.blockZ};
  std::copy(grid, grid + 3, w.grid);
  std::copy(block, block + 3, w.block);
  w.registers = k.registersPerThread;
  w.shared_bytes = k.staticSharedMemory + k.dynamicSharedMemory;
}

void RecordReader::add_copy(const CUpti_ActivityMemcpy5& c) {
  GpuWork& w = out_.work.emplace_back();
  w.kind = WorkKind::copy;
  std::string_view& name = names_[c.copyKind << 16 | c.srcKind << 8 | c.dstKind];
  if (name.empty()) {
    name = out_.texts->emplace_back(std::string("Memcpy ") + copy_name(c.copyKind) + " (" +
                                    memory_name(c.srcKind) + " -> " + memory_name(c.dstKind) + ")");
  }
  w.name = name;
  w.begin = static_cast<std::int64_t>(c.start);
  w.end = static_cast<std::int64_t>(c.end);
  w.device = static_cast<int>(c.deviceId);
  w.context = static_cast<int>(c.contextId);
  w.stream = static_cast<int>(c.streamId);
  w.correlation = c.correlationId;
  w.graph_node = c.graphNodeId;
  w.bytes = static_cast<std::int64_t>(c.bytes);
}

void RecordReader::add_set(const CUpti_ActivityMemset4& s) {
  GpuWork& w = out_.work.emplace_back();
  w.kind = WorkKind::set;
  std::string_view& name = names_[1 << 24 | s.memoryKind];
  if (name.empty()) {
    name = out_.texts->emplace_back(std::string("Memset (") + memory_name(s.memoryKind) + ")");
  }
  w.name = name;
  w.begin = static_cast<std::int64_t>(s.start);
  w.end = static_cast<std::int64_t>(s.end);
  w.device = static_cast<int>(s.deviceId);
  w.context = static_cast<int>(s.contextId);
  w.stream = static_cast<int>(s.streamId);
  w.correlation = s.correlationId;
  w.graph_node = s.graphNodeId;
  w.bytes = static_cast<std::int64_t>(s.bytes);
}

void RecordReader::add_call(const CUpti_ActivityAPI& a, bool driver) {
  // A call that failed has given the GPU nothing.
  if (a.returnValue != 0) return;
  const std::string_view name = call_name(a.cbid, driver);
  if (name.empty()) return;
  out_.calls.push_back({name, driver, static_cast<std::int64_t>(a.start),
                        static_cast<std::int64_t>(a.end), a.correlationId,
                        static_cast<int>(a.threadId)});
}

// CUPTI gives all records of one kernel the same pointer.
std::string_view RecordReader::kernel_name(const char* mangled) {
  if (mangled == nullptr) return "kernel";
  auto [found, is_new] = kernels_.try_emplace(mangled);
  if (!is_new) return found->second;
  int status = 0;
  char* plain = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  found->second = out_.texts->emplace_back(status == 0 && plain != nullptr ? plain : mangled);
  std::free(plain);
  return found->second;
}

std::string_view RecordReader::call_name(CUpti_CallbackId id, bool driver) {
  auto [found, is_new] = calls_.try_emplace(std::uint64_t{driver} << 32 | id);
  if (!is_new) return found->second;
  const char* name = nullptr;
  const auto domain = driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
  if (cupti().callback_name(domain, id, &name) != CUPTI_SUCCESS || name == nullptr) return {};
  const std::string plain = plain_call(name);
  if (is_of_interest(plain, driver)) found->second = out_.texts->emplace_back(plain);
  return found->second;
}

}  // namespace ingot::profiler
