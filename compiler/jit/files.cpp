#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include <ingot/compiler/jit/files.h>

namespace ingot::jit {
namespace {

// write(2) past RLIMIT_FSIZE raises a signal whose default action ends the process.
bool exceeds_size_limit(int fd, std::size_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  const off_t position = lseek(fd, 0, SEEK_CUR);
  return position >= 0 && static_cast<std::uint64_t>(position) + bytes > limit.rlim_cur;
}

}  // namespace

void UniqueFd::reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

std::string errno_text(int error) { return std::generic_category().message(error); }

int write_all(int fd, ByteView bytes) {
  if (exceeds_size_limit(fd, bytes.size())) return EFBIG;
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return ENOSPC;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return 0;
}

std::optional<Bytes> read_all(int fd, std::size_t limit) {
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return {};
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size > limit) return {};
  Bytes bytes(size);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = pread(fd, bytes.data() + done, size - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {};
    done += static_cast<std::size_t>(n);
  }
  return bytes;
}

int write_file(const std::string& path, std::initializer_list<ByteView> parts) {
  const std::string temporary = path.substr(0, path.rfind('/') + 1) + ".tmp-" + random_name();
  int error = 0;
  {
    const UniqueFd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd) return errno;
    for (ByteView part : parts) {
      if (error == 0) error = write_all(fd.get(), part);
    }
  }
  if (error == 0 && rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) unlink(temporary.c_str());
  return error;
}

std::string real_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

std::string stamp_of(const std::string& path) {
  const std::string real = real_path(path);
  struct stat info {};
  if (stat(real.c_str(), &info) != 0) return real;
#if defined(__APPLE__)
  const timespec time = info.st_mtimespec;
#else
  const timespec time = info.st_mtim;
#endif
  return fmt::format("{}\nsize {}\ntime {}.{:09}", real, info.st_size, time.tv_sec, time.tv_nsec);
}

std::string random_name() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

#if defined(__linux__)
UniqueFd memory_file() {
#ifndef MFD_EXEC
  constexpr unsigned MFD_EXEC = 0x10;
#endif
  // Since Linux 6.3 a system may make memory files non-executable unless asked; older kernels
  // refuse the flag.
  UniqueFd fd(memfd_create("ingot-kernel", MFD_CLOEXEC | MFD_EXEC));
  if (!fd && errno == EINVAL) fd = UniqueFd(memfd_create("ingot-kernel", MFD_CLOEXEC));
  return fd;
}
#else
UniqueFd memory_file() {
  errno = ENOSYS;
  return {};
}
#endif

UniqueFd unlinked_file(const std::string& folder) {
  const std::string path = folder + "/.tmp-" + random_name();
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700));
  if (fd) unlink(path.c_str());
  return fd;
}

UniqueFd anonymous_file(const std::string& folder) {
  UniqueFd fd = memory_file();
  return fd || folder.empty() ? std::move(fd) : unlinked_file(folder);
}

std::string path_of_fd(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

bool has_fd_paths() { return access("/proc/self/fd", X_OK) == 0; }

bool is_program(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

}  // namespace ingot::jit
