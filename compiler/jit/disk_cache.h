// A folder of small files that survive the process: compiled kernels by key.
// Many processes may use one folder at once, and any of them may be killed at any moment: an entry
// is one file, written under a temporary name and renamed. An entry holds its full key and a hash;
// whatever cannot be read, or differs, is a miss and is removed.
// Must not know: what the payload is, compilers, the environment.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include <ingot/compiler/jit/bytes.h>
#include <ingot/compiler/jit/files.h>
#include <ingot/compiler/jit/sha256.h>

namespace ingot::jit {

// `hash` names the file, `text` decides: two keys of one hash never share an entry.
struct Key {
  explicit Key(std::string full, Digest (*hasher)(std::string_view) = sha256)
      : text(std::move(full)), hash(hasher(text)) {}
  std::string text;
  Digest hash;
};

struct DiskCacheOptions {
  std::string folder;  // made with its parents, mode 0700; empty: no disk cache
  std::uint64_t byte_limit = std::uint64_t{256} << 20;
  Log log = {};
  std::string setting = {};  // what chose the folder, named in every sentence about it
};

class DiskCache {
 public:
  // Never throws for the folder's sake: a folder that cannot be made, belongs to another user or
  // can be written by others is refused with one sentence to the log.
  explicit DiskCache(DiskCacheOptions options);

  bool usable() const { return static_cast<bool>(folder_fd_); }
  const std::string& folder() const { return options_.folder; }
  // Why the folder is not used; empty if it is, or if none was asked for.
  const std::string& refusal() const { return refusal_; }

  // The payload stored under the key. Marks the entry as used.
  std::optional<Bytes> load(const Key& key);
  // False if it could not be kept (full or read-only disk, larger than the limit): one sentence to
  // the log for each kind of failure, and nothing is left behind. Not flushed to the medium: after
  // a power failure a torn entry fails its hash and is a miss.
  bool store(const Key& key, ByteView payload);
  void remove(const Key& key);
  // Deletes the least recently used entries above the limit, and temporary files of dead writers.
  // store() calls it for the first entry and after each eighth of the limit.
  void trim();

 private:
  bool open_folder();
  std::string refuse_or_accept(int fd) const;
  int write_entry(const std::string& name, const Key& key, ByteView payload);
  void remove_name(const std::string& name);
  // With the name of the cache and of the setting before it.
  void log_once(const std::string& sentence);

  DiskCacheOptions options_;
  UniqueFd folder_fd_;
  std::string refusal_;
  std::atomic<std::uint64_t> stored_since_trim_;
  std::mutex log_mutex_;
  std::set<std::string> logged_;
};

}  // namespace ingot::jit
