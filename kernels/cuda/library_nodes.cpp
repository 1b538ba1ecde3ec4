#include <algorithm>
#include <cstring>

#include <ingot/kernels/cuda/driver.h>
#include <ingot/kernels/cuda/library_nodes.h>

namespace ingot::cuda {

namespace {

static_assert(LibraryCall::kAddresses == LearnedPlaces::kAddresses);

LearnedPlaces::Addresses addresses_of(const LibraryCall& call) {
  LearnedPlaces::Addresses addresses{};
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    addresses[i] = reinterpret_cast<std::uint64_t>(call.addresses[i]);
  }
  return addresses;
}

void append(LearnedPlaces::Words* words, const void* bytes, std::size_t n) {
  const std::size_t first = words->size();
  words->resize(first + (n + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t), 0);
  std::memcpy(words->data() + first, bytes, n);
}

// The parameters of a kernel that was launched with one buffer of them. False: not understood.
bool read_packed(void* const* extra, const void** buffer, std::size_t* bytes) {
  *buffer = nullptr;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      *buffer = extra[1];
    } else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      *bytes = *static_cast<const std::size_t*>(extra[1]);
    } else {
      return false;
    }
  }
  return *buffer != nullptr;
}

}  // namespace

LibraryNodes::LibraryNodes(const LibraryCall& call, const std::vector<cudaGraphNode_t>& nodes)
    : kind_(call.kind.begin(), call.kind.end()), addresses_(addresses_of(call)) {
  for (cudaGraphNode_t node : nodes) {
    known_ = read(node, &nodes_.emplace_back(), &words_) && known_;
  }
}

bool LibraryNodes::read(cudaGraphNode_t node, Node* to, Words* words) {
  to->node = node;
  to->first_word = words->size();
  if (cudaGraphNodeGetType(node, &to->type) != cudaSuccess) return false;
  bool understood = false;
  if (to->type == cudaGraphNodeTypeKernel) {
    understood = driver().get_node(node, &to->kernel) == CUDA_SUCCESS;
    to->readable = understood && read_kernel(to, words);
    if (!to->readable) words->resize(to->first_word);
  } else if (to->type == cudaGraphNodeTypeMemset) {
    cudaMemsetParams set{};
    understood = to->readable = cudaGraphMemsetNodeGetParams(node, &set) == cudaSuccess;
    append(words, &set, sizeof set);
  }
  to->words = words->size() - to->first_word;
  return understood;
}

bool LibraryNodes::read_kernel(Node* to, Words* words) {
  const CUDA_KERNEL_NODE_PARAMS& k = to->kernel;
  to->sizes.clear();
  if (k.extra != nullptr) {
    const void* buffer = nullptr;
    std::size_t bytes = 0;
    if (!read_packed(k.extra, &buffer, &bytes)) return false;
    append(words, buffer, bytes);
    to->sizes = {bytes};
    to->packed = true;
    return true;
  }
  const Driver& d = driver();
  if (d.kernel_parameter == nullptr || d.function_parameter == nullptr) return false;
  std::size_t offset = 0, bytes = 0;
  const auto has = [&](std::size_t i) {
    const CUresult status = k.kern != nullptr ? d.kernel_parameter(k.kern, i, &offset, &bytes)
                                              : d.function_parameter(k.func, i, &offset, &bytes);
    return status == CUDA_SUCCESS;
  };
  for (std::size_t i = 0; has(i); ++i) {
    if (k.kernelParams == nullptr) return false;
    append(words, k.kernelParams[i], bytes);
    to->sizes.push_back(bytes);
  }
  return true;
}

// Whether two nodes differ in the bytes of their parameters only.
bool LibraryNodes::alike(const Node& a, const Node& b) {
  const CUDA_KERNEL_NODE_PARAMS &p = a.kernel, &q = b.kernel;
  return a.type == b.type && a.sizes == b.sizes && a.packed == b.packed &&
         a.readable == b.readable && p.func == q.func && p.kern == q.kern &&
         p.gridDimX == q.gridDimX && p.gridDimY == q.gridDimY && p.gridDimZ == q.gridDimZ &&
         p.blockDimX == q.blockDimX && p.blockDimY == q.blockDimY && p.blockDimZ == q.blockDimZ &&
         p.sharedMemBytes == q.sharedMemBytes;
}

bool LibraryNodes::write(cudaGraphExec_t graph, const Node& node, const Words& words) {
  const std::uint64_t* at = words.data() + node.first_word;
  if (node.type == cudaGraphNodeTypeMemset) {
    cudaMemsetParams set{};
    std::memcpy(&set, at, sizeof set);
    return cudaGraphExecMemsetNodeSetParams(graph, node.node, &set) == cudaSuccess;
  }
  CUDA_KERNEL_NODE_PARAMS kernel = node.kernel;
  std::vector<void*> parameters;
  std::size_t bytes = 0;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, const_cast<std::uint64_t*>(at),
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  if (node.packed) {
    bytes = node.sizes[0];
    kernel.extra = extra;
  } else {
    for (std::size_t size : node.sizes) {
      parameters.push_back(const_cast<std::uint64_t*>(at));
      at += (size + sizeof *at - 1) / sizeof *at;
    }
    kernel.kernelParams = parameters.data();
  }
  return driver().set_node(graph, node.node, &kernel) == CUDA_SUCCESS;
}

bool LibraryNodes::same_kind(const LibraryCall& call) const {
  return std::equal(kind_.begin(), kind_.end(), call.kind.begin(), call.kind.end());
}

bool LibraryNodes::hold(const LibraryCall& call) const {
  return same_kind(call) && addresses_ == addresses_of(call);
}

bool LibraryNodes::move(cudaGraphExec_t graph, const LibraryCall& call) {
  const LearnedPlaces::Addresses to = addresses_of(call);
  if (!same_kind(call) || !places_.know(addresses_, to)) return false;
  const Words before = words_;
  places_.move(words_, addresses_, to);
  addresses_ = to;
  for (const Node& node : nodes_) {
    const auto first = static_cast<std::ptrdiff_t>(node.first_word),
               end = first + static_cast<std::ptrdiff_t>(node.words);
    const bool same =
        std::equal(words_.begin() + first, words_.begin() + end, before.begin() + first);
    // A fresh recording then sets all nodes.
    if (!same && !write(graph, node, words_)) return false;
  }
  return true;
}

bool LibraryNodes::replace(cudaGraphExec_t graph, const LibraryCall& call,
                           const std::vector<cudaGraphNode_t>& fresh) {
  if (fresh.size() != nodes_.size()) return false;
  Words words;
  bool readable = true;
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    Node now;
    if (!read(fresh[i], &now, &words) || !alike(nodes_[i], now)) return false;
    readable = readable && now.readable;
    if (now.readable) {
      if (!write(graph, nodes_[i], words)) return false;
    } else if (driver().set_node(graph, nodes_[i].node, &now.kernel) != CUDA_SUCCESS) {
      return false;
    }
  }
  const LearnedPlaces::Addresses to = addresses_of(call);
  if (!same_kind(call)) {
    kind_.assign(call.kind.begin(), call.kind.end());
    places_ = {};
  } else if (readable) {
    places_.teach(words_, addresses_, words, to);
  }
  words_ = std::move(words);
  addresses_ = to;
  return true;
}

}  // namespace ingot::cuda
