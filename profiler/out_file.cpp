#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <zlib.h>

#include <ingot/kernels/core/check.h>
#include <ingot/profiler/out_file.h>

namespace ingot::profiler {
namespace {

constexpr std::size_t kBuffer = 256 << 10;

}  // namespace

OutFile::OutFile(std::string who, std::string path) : who_(std::move(who)), path_(std::move(path)) {
  static std::atomic<unsigned> counter{0};
  target_ = path_;
  if (char* real = ::realpath(path_.c_str(), nullptr); real != nullptr) {  // a link stays one
    target_ = real;
    std::free(real);
  }
  struct stat what {};
  if (::stat(target_.c_str(), &what) == 0 && !S_ISREG(what.st_mode) && !S_ISDIR(what.st_mode)) {
    // A device or pipe is written to; a file in its place would be the end of it.
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    // Two writers of one file, threads or processes, never share the temporary one.
    temporary_ = fmt::format("{}.{}.{}.tmp", target_, ::getpid(), counter.fetch_add(1));
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  }
  if (descriptor_ < 0) {
    temporary_.clear();
    fail(std::strerror(errno));
  }
  if (path_.ends_with(".gz")) {
    gzip_ = gzdopen(descriptor_, "wb6");
    if (gzip_ == nullptr) fail("no memory for gzip");
  }
  buffer_.reserve(kBuffer);
}

OutFile::~OutFile() {
  if (gzip_ != nullptr) {
    gzclose(static_cast<gzFile>(gzip_));
  } else if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
  if (!temporary_.empty()) std::remove(temporary_.c_str());
}

void OutFile::fail(const std::string& reason) {
  ingot::detail::fail<FileError>("{}: cannot write {}: {}", who_, path_, reason);
}

void OutFile::write(std::string_view text) {
  if (buffer_.size() + text.size() > kBuffer) flush();
  buffer_ += text;
}

void OutFile::flush() {
  const char* at = buffer_.data();
  std::size_t left = buffer_.size();
  while (left > 0) {
    errno = 0;
    std::ptrdiff_t n = gzip_ != nullptr
                           ? gzwrite(static_cast<gzFile>(gzip_), at, static_cast<unsigned>(left))
                           : ::write(descriptor_, at, left);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(errno != 0 ? std::strerror(errno) : "gzip failed");
    at += n;
    left -= static_cast<std::size_t>(n);
  }
  buffer_.clear();
}

void OutFile::commit() {
  flush();
  bool closed = gzip_ != nullptr
                    ? gzclose(static_cast<gzFile>(std::exchange(gzip_, nullptr))) == Z_OK
                    : ::close(descriptor_) == 0;
  descriptor_ = -1;
  if (!closed) fail(errno != 0 ? std::strerror(errno) : "gzip failed");
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail(std::strerror(errno));
  temporary_.clear();
}

}  // namespace ingot::profiler
