// The disk cache among processes that die, and on disks that are full, read-only or shared.
#include <chrono>
#include <fcntl.h>
#include <random>
#include <signal.h>
#include <sys/resource.h>
#include <thread>

#include "jit_support.h"

namespace ingot::jit::testing {
namespace {

// A payload that shows whether it is whole and one writer's: its parts repeat the same stamp.
Bytes stamped(std::uint32_t stamp, std::size_t size) {
  Bytes bytes(size * 4);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<unsigned char>(stamp >> (8 * (i % 4)));
  }
  return bytes;
}

bool is_whole(const Bytes& bytes) {
  if (bytes.size() < 4 || bytes.size() % 4 != 0) return false;
  for (std::size_t i = 4; i < bytes.size(); ++i) {
    if (bytes[i] != bytes[i - 4]) return false;
  }
  return true;
}

TEST(JitDiskFaults, EightProcessesAtOnceNeverMixEntries) {
  const Folder folder;
  constexpr int kProcesses = 8, kRounds = 150, kKeys = 5;
  // A small limit, so that entries are dropped all the time too.
  const auto body = [&](std::uint32_t id) -> std::string {
    DiskCache cache({folder.path(), 200000});
    std::mt19937 random(id);
    int hits = 0;
    for (int round = 0; round < kRounds; ++round) {
      const Key key(fmt::format("key {}", random() % kKeys));
      if (!cache.store(
              key, stamped(id << 16 | static_cast<std::uint32_t>(round), 1 + random() % 4000))) {
        return "not stored";
      }
      const auto loaded = cache.load(Key(fmt::format("key {}", random() % kKeys)));
      if (loaded && !is_whole(*loaded)) return "a mixed entry";
      hits += loaded.has_value();
    }
    return hits > kRounds / 4 ? "" : fmt::format("only {} hits", hits);
  };
  std::vector<std::unique_ptr<Child>> children;
  for (std::uint32_t id = 1; id <= kProcesses; ++id) {
    children.push_back(std::make_unique<Child>([&body, id] { return body(id); }));
  }
  for (auto& child : children) EXPECT_EQ(child->report(), "");
  for (const std::string& name : names_in(folder.path())) {
    EXPECT_TRUE(name.ends_with(".kernel")) << name << " was left behind";
  }
}

TEST(JitDiskFaults, KilledWhileWriting) {
  const Folder folder;
  constexpr std::uint32_t kKeys = 3;
  const auto key = [](std::uint32_t i) { return Key(fmt::format("key {}", i % kKeys)); };
  const auto temporaries = [&] {
    std::vector<std::string> names = names_in(folder.path());
    std::erase_if(names, [](const std::string& name) { return !name.starts_with(".tmp-"); });
    return names;
  };
  {
    DiskCache cache({folder.path()});
    for (std::uint32_t i = 0; i < kKeys; ++i) ASSERT_TRUE(cache.store(key(i), stamped(i, 10)));
  }
  std::mt19937 random(11);
  int interrupted = 0;
  for (int round = 0; round < 500 && interrupted < 40; ++round) {
    Child child([&]() -> std::string {
      DiskCache cache({folder.path()});
      for (std::uint32_t i = 0;; ++i) cache.store(key(i), stamped(i + 1, 300000));
    });
    for (int i = 0; i < 100000 && temporaries().empty(); ++i) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
    child.end(SIGKILL);
    LogLines lines;
    DiskCache cache({folder.path(), std::uint64_t{256} << 20, lines.log()});
    for (std::uint32_t i = 0; i < kKeys; ++i) {
      const auto loaded = cache.load(key(i));
      ASSERT_TRUE(loaded) << "an entry got lost";
      EXPECT_TRUE(is_whole(*loaded));
    }
    EXPECT_EQ(lines.text(), "") << "a partial entry was visible under its final name";
    for (const std::string& name : temporaries()) {
      ++interrupted;
      fs::remove(folder.path(name));
    }
  }
  EXPECT_GT(interrupted, 0) << "no writer was ever killed at work";
}

TEST(JitDiskFaults, ReadOnlyFolderServesAndDoesNotKeep) {
  const Folder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  Child child([&]() -> std::string {
    if (!become_ordinary_user(folder.path())) return "cannot change the user";
    {
      DiskCache cache({folder.path()});
      if (!cache.store(Key("old"), stamped(1, 10))) return "not stored: " + cache.refusal();
    }
    if (chmod(folder.path().c_str(), 0500) != 0) return "chmod";
    LogLines lines;
    DiskCache cache({folder.path(), 1 << 20, lines.log()});
    if (!cache.load(Key("old"))) return "the entry is not served";
    for (int i = 0; i < 100; ++i) {
      if (cache.store(Key("new"), stamped(2, 10))) return "stored in a read-only folder";
    }
    if (cache.load(Key("new"))) return "loaded what was not stored";
    if (lines.count() != 1) return "not one sentence: " + lines.text();
    if (lines.text().find("cannot be written (Permission denied)") == std::string::npos) {
      return lines.text();
    }
    chmod(folder.path().c_str(), 0700);
    return cache.store(Key("new"), stamped(2, 10)) ? "" : "not stored after the repair";
  });
  EXPECT_EQ(child.report(), "");
}

TEST(JitDiskFaults, FileSizeLimit) {
  const Folder folder;
  Child child([&]() -> std::string {
    const rlimit limit{2000, 2000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return "setrlimit";
    LogLines lines;
    DiskCache cache({folder.path(), 1 << 20, lines.log()});
    if (cache.store(Key("large"), stamped(1, 1000))) return "stored above the limit";
    if (!cache.store(Key("small"), stamped(1, 100))) return "not stored below the limit";
    return lines.count() == 1 ? "" : "not one sentence: " + lines.text();
  });
  EXPECT_EQ(child.report(), "");
  EXPECT_EQ(names_in(folder.path()).size(), 1u);
}

TEST(JitDiskFaults, FullDisk) {
  const Folder folder;
  Child child([&]() -> std::string {
    if (!mount_private(folder.path(), 0, "size=64k,mode=0700")) return "skip";
    LogLines lines;
    DiskCache cache({folder.path(), 1 << 20, lines.log()});
    if (!cache.usable()) return cache.refusal();
    int stored = 0;
    for (int i = 0; i < 20; ++i) stored += cache.store(Key(std::to_string(i)), stamped(7, 2000));
    if (stored == 0 || stored > 8) return fmt::format("{} entries on 64 KiB", stored);
    if (lines.text().find("No space left on device") == std::string::npos) return lines.text();
    if (lines.count() != 1) return "not one sentence: " + lines.text();
    int loaded = 0;
    for (int i = 0; i < 20; ++i) {
      const auto entry = cache.load(Key(std::to_string(i)));
      if (entry && !is_whole(*entry)) return "a partial entry";
      loaded += entry.has_value();
    }
    if (loaded != stored) return fmt::format("{} stored, {} loaded", stored, loaded);
    for (const auto& name : names_in(folder.path())) {
      if (!name.ends_with(".kernel")) return name + " was left behind";
    }
    return "";
  });
  const std::string report = child.report();
  if (report == "skip") GTEST_SKIP() << "this process may not mount a file system";
  EXPECT_EQ(report, "");
}

// What chose the folder is named, and what happens instead.
TEST(JitDiskFaults, SentencesNameTheSetting) {
  const Folder folder;
  const std::string file = folder.path("file");
  { const UniqueFd fd(open(file.c_str(), O_WRONLY | O_CREAT, 0600)); }
  const auto sentence = [&](const std::string& path) {
    LogLines lines;
    DiskCache cache({path, 1 << 20, lines.log(), "INGOT_CACHE_DIR"});
    EXPECT_FALSE(cache.usable());
    return lines.text();
  };
  for (const std::string& path : {file, file + "/below", std::string("/proc/none")}) {
    const std::string text = sentence(path);
    EXPECT_NE(text.find("kernel cache (INGOT_CACHE_DIR): folder " + path), std::string::npos);
    EXPECT_NE(text.find("; kernels are kept in memory only"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace ingot::jit::testing
