#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include <ingot/compiler/jit/disk_cache.h>

namespace ingot::jit {
namespace {

constexpr std::string_view kMagic = "INGOTKC1";
constexpr std::size_t kHeaderSize = 8 + 8 + 8 + 32;  // magic, key length, payload length, hash
constexpr std::string_view kEntrySuffix = ".kernel";
constexpr std::string_view kTemporaryPrefix = ".tmp-";
constexpr std::string_view kFailedPrefix = "failed-";  // sources that did not compile
constexpr long kTemporaryLifetime = 600;               // seconds; a write takes milliseconds
constexpr long kTouchInterval = 3600;                  // seconds between marks of one entry's use

std::string entry_name(const Key& key) { return to_hex(key.hash).append(kEntrySuffix); }

void put(std::uint64_t x, unsigned char* p) {
  for (int i = 0; i < 8; ++i) p[i] = static_cast<unsigned char>(x >> (8 * i));
}
std::uint64_t get(const unsigned char* p) {
  std::uint64_t x = 0;
  for (int i = 7; i >= 0; --i) x = x << 8 | p[i];
  return x;
}

Digest content_hash(ByteView key, ByteView payload) {
  return Sha256().update(key).update(payload).digest();
}

// The whole file of an entry, header first, numbers little-endian.
Bytes pack(const Key& key, ByteView payload) {
  Bytes file(kHeaderSize);
  std::copy(kMagic.begin(), kMagic.end(), file.begin());
  put(key.text.size(), file.data() + 8);
  put(payload.size(), file.data() + 16);
  const Digest hash = content_hash(as_bytes(key.text), payload);
  std::copy(hash.begin(), hash.end(), file.begin() + 24);
  file.insert(file.end(), key.text.begin(), key.text.end());
  file.insert(file.end(), payload.begin(), payload.end());
  return file;
}

enum class Unpacked { kGood, kOtherKey, kBad };

Unpacked unpack(Bytes& file, const Key& key) {
  if (file.size() < kHeaderSize || as_text(file).substr(0, 8) != kMagic) return Unpacked::kBad;
  const std::uint64_t key_size = get(file.data() + 8), payload_size = get(file.data() + 16);
  const std::uint64_t rest = file.size() - kHeaderSize;
  if (key_size > rest || payload_size != rest - key_size) return Unpacked::kBad;
  const ByteView stored_key = ByteView(file).subspan(kHeaderSize, key_size);
  const ByteView payload = ByteView(file).subspan(kHeaderSize + key_size);
  const Digest hash = content_hash(stored_key, payload);
  if (std::memcmp(hash.data(), file.data() + 24, hash.size()) != 0) return Unpacked::kBad;
  if (as_text(stored_key) != key.text) return Unpacked::kOtherKey;
  file.erase(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(kHeaderSize + key_size));
  return Unpacked::kGood;
}

// Makes the folder and its missing parents, readable by this user alone. Returns 0 or errno.
int make_folders(const std::string& path) {
  for (std::size_t end = 1; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0700) != 0) {
      const int error = errno;
      struct stat info {};
      if (stat(part.c_str(), &info) != 0) return error;
      if (!S_ISDIR(info.st_mode)) return ENOTDIR;
    }
  }
  return 0;
}

struct File {
  std::string name;
  std::uint64_t size;
  timespec used;
};

// The cache's own files; removes temporary files of writers that died.
std::vector<File> list_files(int folder) {
  std::vector<File> files;
  UniqueFd fd(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* stream = fd ? fdopendir(fd.get()) : nullptr;
  if (stream == nullptr) return files;
  fd.release();
  const time_t now = time(nullptr);
  while (const dirent* entry = readdir(stream)) {
    const std::string_view name = entry->d_name;
    const bool temporary = name.starts_with(kTemporaryPrefix);
    const bool kept = name.ends_with(kEntrySuffix) || name.starts_with(kFailedPrefix);
    struct stat info {};
    if (!temporary && !kept) continue;
    if (fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(info.st_mode)) continue;
    if (kept) {
#if defined(__APPLE__)
      const timespec used = info.st_mtimespec;
#else
      const timespec used = info.st_mtim;
#endif
      files.push_back({std::string(name), static_cast<std::uint64_t>(info.st_size), used});
    } else if (info.st_mtime < now - kTemporaryLifetime) {
      unlinkat(folder, entry->d_name, 0);
    }
  }
  closedir(stream);
  return files;
}

}  // namespace

DiskCache::DiskCache(DiskCacheOptions options)
    : options_(std::move(options)), stored_since_trim_(options_.byte_limit) {
  if (options_.folder.empty()) return;
  std::error_code ignored;  // without a current folder a relative path stays as it is
  const std::filesystem::path whole = std::filesystem::absolute(options_.folder, ignored);
  if (!whole.empty()) options_.folder = whole.lexically_normal().string();
  if (!open_folder()) {
    log_once(fmt::format("{}; kernels are kept in memory only", refusal_));
  }
}

bool DiskCache::open_folder() {
  const int made = make_folders(options_.folder);
  UniqueFd fd(open(options_.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) {
    refusal_ = fmt::format("folder {} cannot be used ({})", options_.folder,
                           errno_text(made != 0 ? made : errno));
    return false;
  }
  refusal_ = refuse_or_accept(fd.get());
  if (!refusal_.empty()) return false;
  folder_fd_ = std::move(fd);
  return true;
}

// Entries are machine code that will run: whoever can write here can run code as this user.
std::string DiskCache::refuse_or_accept(int fd) const {
  struct stat info {};
  if (fstat(fd, &info) != 0) {
    return fmt::format("folder {} cannot be used ({})", options_.folder, errno_text(errno));
  }
  if (info.st_uid != geteuid()) {
    return fmt::format("folder {} belongs to another user (id {})", options_.folder, info.st_uid);
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fmt::format("folder {} can be written by other users (chmod 700 repairs it)",
                       options_.folder);
  }
  return {};
}

std::optional<Bytes> DiskCache::load(const Key& key) {
  if (!usable()) return {};
  const std::string name = entry_name(key);
  // O_NONBLOCK: opening a pipe of that name must not wait for a writer.
  const UniqueFd fd(
      openat(folder_fd_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) {
    if (errno == ELOOP) remove_name(name);
    return {};
  }
  std::optional<Bytes> file = read_all(fd.get(), options_.byte_limit);
  const Unpacked state = file ? unpack(*file, key) : Unpacked::kBad;
  if (state == Unpacked::kBad) {
    log_once(fmt::format("removed the damaged entry {}/{}", options_.folder, name));
    remove_name(name);
  }
  if (state != Unpacked::kGood) return {};
  struct stat info {};
  if (fstat(fd.get(), &info) == 0 && info.st_mtime < time(nullptr) - kTouchInterval) {
    futimens(fd.get(), nullptr);
  }
  return file;
}

bool DiskCache::store(const Key& key, ByteView payload) {
  if (!usable()) return false;
  const std::uint64_t size = kHeaderSize + key.text.size() + payload.size();
  if (size > options_.byte_limit) {
    log_once(fmt::format("an entry is larger than the limit of {} bytes", options_.byte_limit));
    return false;
  }
  const std::string name = entry_name(key);
  const int error = write_entry(name, key, payload);
  if (error != 0) {
    log_once(
        fmt::format("folder {} cannot be written ({}); new kernels are kept in "
                    "memory only",
                    options_.folder, errno_text(error)));
    return false;
  }
  if (stored_since_trim_.fetch_add(size) + size >= options_.byte_limit / 8) trim();
  return true;
}

int DiskCache::write_entry(const std::string& name, const Key& key, ByteView payload) {
  const int folder = folder_fd_.get();
  const std::string temporary = std::string(kTemporaryPrefix) + random_name();
  {
    const UniqueFd fd(openat(folder, temporary.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) return errno;
    const int error = write_all(fd.get(), pack(key, payload));
    if (error != 0) {
      unlinkat(folder, temporary.c_str(), 0);
      return error;
    }
  }
  int error = renameat(folder, temporary.c_str(), folder, name.c_str()) == 0 ? 0 : errno;
  if (error == EISDIR) {
    remove_name(name);
    error = renameat(folder, temporary.c_str(), folder, name.c_str()) == 0 ? 0 : errno;
  }
  if (error != 0) unlinkat(folder, temporary.c_str(), 0);
  return error;
}

void DiskCache::remove(const Key& key) {
  if (usable()) remove_name(entry_name(key));
}

void DiskCache::remove_name(const std::string& name) {
  if (unlinkat(folder_fd_.get(), name.c_str(), 0) == 0 || errno == ENOENT) return;
  std::error_code ignored;  // a folder of that name; symbolic links in it are not followed
  std::filesystem::remove_all(std::filesystem::path(options_.folder) / name, ignored);
}

void DiskCache::trim() {
  if (!usable()) return;
  stored_since_trim_ = 0;
  std::vector<File> files = list_files(folder_fd_.get());
  std::uint64_t total = 0;
  for (const File& file : files) total += file.size;
  if (total <= options_.byte_limit) return;
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  // A quarter of the limit is freed at once, so that a full cache is not scanned for every entry.
  for (const File& file : files) {
    if (total <= options_.byte_limit / 4 * 3) break;
    if (unlinkat(folder_fd_.get(), file.name.c_str(), 0) == 0) total -= file.size;
  }
}

void DiskCache::log_once(const std::string& sentence) {
  const std::string text = options_.setting.empty()
                               ? "kernel cache: " + sentence
                               : fmt::format("kernel cache ({}): {}", options_.setting, sentence);
  const std::lock_guard lock(log_mutex_);
  if (logged_.insert(sentence).second && options_.log) options_.log(text);
}

}  // namespace ingot::jit
