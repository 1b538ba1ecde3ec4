// The few file operations of the run-time compiler, with the traps handled in one place: short
// writes, interrupted calls, a file size limit (exceeding it would kill the process by SIGXFSZ).
// Owns: UniqueFd. Must not know: caches, compilers, kernels.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <ingot/compiler/jit/bytes.h>

namespace ingot::jit {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() { reset(); }
  void reset();
  // Gives the descriptor up without closing it.
  int release() { return std::exchange(fd_, -1); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// The system's sentence for an errno value: "No space left on device".
std::string errno_text(int error);

// Writes all of `bytes` at the file's position. Returns 0 or the errno value.
int write_all(int fd, ByteView bytes);

// The whole regular file from its start, whatever the position; nothing if it is not a regular
// file, is larger than `limit` bytes or cannot be read.
std::optional<Bytes> read_all(int fd, std::size_t limit);

// Writes the parts to a private file that appears complete or not at all. Returns 0 or errno.
int write_file(const std::string& path, std::initializer_list<ByteView> parts);

// Behind all links; the path itself where there is nothing.
std::string real_path(const std::string& path);

// Path, size and time of a file, behind all links: another file under the path has another stamp.
std::string stamp_of(const std::string& path);

// 16 hexadecimal digits from the system's random source: unique among processes, also in
// containers that share a folder and have equal process ids.
std::string random_name();

// Files without a name, closed on exec; they end with their last user, so nothing is left behind
// however the process ends. Invalid, with errno set, where the system refuses.
UniqueFd memory_file();
UniqueFd unlinked_file(const std::string& folder);
// In memory, else in `folder`.
UniqueFd anonymous_file(const std::string& folder);

// A path that opens descriptor `fd` again, in this process and in children that inherit it under
// the same number.
std::string path_of_fd(int fd);
// Whether the system has such paths.
bool has_fd_paths();

// A regular file that this process may execute.
bool is_program(const std::string& path);

}  // namespace ingot::jit
