#include <algorithm>
#include <cerrno>
#include <cstring>

#include <ingot/kernels/core/check_at.h>
#include <ingot/runtime/data/byte_stream.h>

namespace ingot::data {

namespace {
constexpr std::size_t kBuffer = 1 << 16;
constexpr std::size_t kMaxChunk = 1 << 30;  // zlib counts in unsigned int
}  // namespace

#define INGOT_FAIL_FILE(...) ::ingot::detail::fail_at<FileError>(op_, loc_, __VA_ARGS__)

ByteStream::ByteStream(const char* op, const std::string& path, Loc loc)
    : op_(op), path_(path), loc_(loc), file_(std::fopen(path.c_str(), "rb")), buffer_(kBuffer) {
  if (file_ == nullptr) INGOT_FAIL_FILE("cannot open {}: {}", path_, std::strerror(errno));
  if (!refill()) return;
  compressed_ = z_.avail_in >= 2 && buffer_[0] == 0x1f && buffer_[1] == 0x8b;
  constexpr int kGzip = 16;
  if (compressed_ && inflateInit2(&z_, MAX_WBITS + kGzip) != Z_OK) {
    INGOT_FAIL_FILE("no memory to decompress {}", path_);
  }
}

ByteStream::~ByteStream() {
  if (compressed_) inflateEnd(&z_);
}

bool ByteStream::refill() {
  const std::size_t n = std::fread(buffer_.data(), 1, buffer_.size(), file_.get());
  if (n == 0 && std::ferror(file_.get()) != 0) {
    INGOT_FAIL_FILE("cannot read {}: {}", path_, std::strerror(errno));
  }
  z_.next_in = buffer_.data();
  z_.avail_in = static_cast<unsigned>(n);
  return n > 0;
}

std::size_t ByteStream::read(void* to, std::size_t n) {
  auto* bytes = static_cast<unsigned char*>(to);
  return compressed_ ? read_gzip(bytes, n) : read_plain(bytes, n);
}

std::size_t ByteStream::read_plain(unsigned char* to, std::size_t n) {
  std::size_t done = 0;
  while (done < n && (z_.avail_in > 0 || refill())) {
    const std::size_t take = std::min<std::size_t>(z_.avail_in, n - done);
    std::memcpy(to + done, z_.next_in, take);
    z_.next_in += take;
    z_.avail_in -= static_cast<unsigned>(take);
    done += take;
  }
  return done;
}

std::size_t ByteStream::read_gzip(unsigned char* to, std::size_t n) {
  std::size_t done = 0;
  while (done < n) {
    if (z_.avail_in == 0 && !refill()) {
      if (between_members_ && z_.total_in == 0) break;
      if (between_members_) INGOT_FAIL_FILE("{} has trailing bytes after its gzip data", path_);
      INGOT_FAIL_FILE("{} is truncated: its gzip data ends too early", path_);
    }
    const std::size_t chunk = std::min(n - done, kMaxChunk);
    z_.next_out = to + done;
    z_.avail_out = static_cast<unsigned>(chunk);
    const int rc = inflate(&z_, Z_NO_FLUSH);
    if (rc == Z_DATA_ERROR && between_members_) {
      INGOT_FAIL_FILE("{} has trailing bytes after its gzip data", path_);
    }
    if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR) {
      INGOT_FAIL_FILE("{} is damaged: its gzip data has an {}", path_,
                      z_.msg != nullptr ? z_.msg : "error");
    }
    done += chunk - z_.avail_out;
    if (rc == Z_STREAM_END) {
      inflateReset(&z_);
      between_members_ = true;
    } else if (z_.total_out > 0) {
      between_members_ = false;
    }
  }
  return done;
}

#undef INGOT_FAIL_FILE

}  // namespace ingot::data
