// ByteStream: the bytes of a file, through zlib when it is gzip-compressed.
// Owns: opening, decompressing, and the sentence for each way in which a file can be damaged.
// Internal: includes zlib. Must not know: what the bytes mean.
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <zlib.h>

#include <ingot/kernels/core/error.h>

namespace ingot::data {

// Throws FileError "op: path ..." with the caller's line for whatever goes wrong.
class ByteStream {
 public:
  ByteStream(const char* op, const std::string& path, Loc loc);
  ~ByteStream();
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  // The next n bytes, fewer only where the (decompressed) file ends.
  std::size_t read(void* to, std::size_t n);
  bool compressed() const { return compressed_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  bool refill();  // false at the end of the file
  std::size_t read_plain(unsigned char* to, std::size_t n);
  std::size_t read_gzip(unsigned char* to, std::size_t n);

  const char* op_;
  std::string path_;
  Loc loc_;
  std::unique_ptr<std::FILE, Close> file_;
  std::vector<unsigned char> buffer_;
  bool compressed_ = false;
  bool between_members_ = false;  // a gzip file may hold several, one after the other
  z_stream z_{};                  // next_in, avail_in: what is left of the buffer, also when plain
};

}  // namespace ingot::data
