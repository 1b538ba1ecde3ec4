// Events as the runtime and the compiler send them, over operands made up on the spot.
// Owns: FakeOp, busy waiting, a session with a given roofline, a folder for files.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <zlib.h>

#include <ingot/profiler/clock.h>
#include <ingot/profiler/profiler.h>
#include <ingot/runtime/observer.h>

namespace ingot::profiler {

inline void spin_us(double us) {
  const std::int64_t end = monotonic_ns() + static_cast<std::int64_t>(us * 1e3);
  while (monotonic_ns() < end) {
  }
}

inline Meta meta_of(const Dims& sizes, DType dtype = DType::f32) {
  Meta m;
  m.dtype = dtype;
  m.sizes = sizes;
  m.strides = contiguous_strides(sizes);
  return m;
}

// 2 flops an element; bytes as touched.
inline Cost fake_cost(const OpInfo&, const OpArgs& args, const Meta* out) {
  return {.flops = 2.0 * static_cast<double>(out->numel()), .bytes = bytes_touched(args, out, 1)};
}

class FakeOp {
 public:
  explicit FakeOp(const char* name, std::vector<Meta> operands = {meta_of({64, 64}), meta_of({64})})
      : info_{.name = name, .kind = OpKind::elementwise, .n_in = 2, .cost = &fake_cost},
        operands_(std::move(operands)),
        out_(operands_.empty() ? meta_of({}) : operands_[0]) {
    for (const Meta& m : operands_) in_.push_back(&m);
  }
  FakeOp(const FakeOp&) = delete;
  FakeOp& operator=(const FakeOp&) = delete;

  // An op with its kernel body inside, as dispatch and run_kernel do.
  void run(double kernel_us = 0, double host_us = 0, Loc loc = Loc::here()) const {
    const OpArgs args{in_.data(), static_cast<int>(in_.size()), attrs_, kCPU};
    ScopedEvent op(
        {.kind = EventKind::op, .name = info_.name, .loc = loc, .op = &info_, .args = &args});
    if (host_us > 0) spin_us(host_us);
    ScopedEvent kernel({.kind = EventKind::kernel,
                        .name = info_.name,
                        .loc = loc,
                        .op = &info_,
                        .args = &args,
                        .out = &out_,
                        .n_out = 1});
    if (kernel_us > 0) spin_us(kernel_us);
  }

  // Operand i becomes a host scalar.
  void make_scalar(std::size_t i) { in_[i] = nullptr; }

 private:
  OpInfo info_;
  std::vector<Meta> operands_;
  std::vector<const Meta*> in_;
  Attrs attrs_{};
  Meta out_;
};

inline void event(EventKind kind, const char* name, double us = 0) {
  ScopedEvent e({.kind = kind, .name = name});
  if (us > 0) spin_us(us);
}

// Tests that are not about the machine's roofline give one.
inline Options options_of(Options options = {}) {
  if (!options.roofline) options.roofline = Roofline{10e9, 100e9};
  return options;
}

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ingot-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

inline std::string read_gzip(const std::string& path) {
  std::string out;
  gzFile file = gzopen(path.c_str(), "rb");
  char buffer[4096];
  for (int n = 0; file != nullptr && (n = gzread(file, buffer, sizeof buffer)) > 0;) {
    out.append(buffer, static_cast<std::size_t>(n));
  }
  if (file != nullptr) gzclose(file);
  return out;
}

}  // namespace ingot::profiler
