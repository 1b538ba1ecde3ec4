// The disk cache in one process: what it keeps, what it refuses, every kind of damage.
#include <chrono>
#include <fcntl.h>
#include <map>
#include <random>
#include <sys/stat.h>

#include "jit_support.h"

namespace ingot::jit::testing {
namespace {

Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

std::string only_entry(const Folder& folder) {
  const auto names = names_in(folder.path(), ".kernel");
  EXPECT_EQ(names.size(), 1u);
  return names.empty() ? "" : folder.path(names[0]);
}

void age(const std::string& path, long seconds) {
  const auto time = static_cast<time_t>(::time(nullptr) - seconds);
  const timespec times[2] = {{time, 0}, {time, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

TEST(JitDiskCache, KeepsEntriesBetweenInstances) {
  const Folder folder;
  const Key key("a key");
  const Bytes payload = bytes_of(std::string("\0binary\xff", 8));
  {
    DiskCache cache({folder.path()});
    EXPECT_FALSE(cache.load(key));
    EXPECT_TRUE(cache.store(key, payload));
    EXPECT_EQ(cache.load(key), payload);
  }
  DiskCache again({folder.path()});
  EXPECT_EQ(again.load(key), payload);
  EXPECT_FALSE(again.load(Key("another key")));
  EXPECT_TRUE(again.store(key, bytes_of("new")));
  EXPECT_EQ(again.load(key), bytes_of("new"));
  again.remove(key);
  EXPECT_FALSE(again.load(key));
  EXPECT_TRUE(again.store(Key("empty"), {}));
  EXPECT_EQ(again.load(Key("empty")), Bytes());
}

TEST(JitDiskCache, MakesAPrivateFolderWithItsParents) {
  const Folder folder;
  DiskCache cache({folder.path("a/b/c")});
  ASSERT_TRUE(cache.usable());
  struct stat info {};
  ASSERT_EQ(stat(folder.path("a/b/c").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  ASSERT_TRUE(cache.store(Key("k"), bytes_of("p")));
  const auto names = names_in(folder.path("a/b/c"));
  ASSERT_EQ(names.size(), 1u);
  ASSERT_EQ(stat(folder.path("a/b/c/" + names[0]).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
}

TEST(JitDiskCache, RefusesFoldersThatOthersControl) {
  LogLines lines;
  const Folder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0777), 0);
  DiskCache open_to_all({folder.path(), 1 << 20, lines.log()});
  EXPECT_FALSE(open_to_all.usable());
  EXPECT_NE(open_to_all.refusal().find("can be written by other users"), std::string::npos);
  EXPECT_FALSE(open_to_all.store(Key("k"), bytes_of("p")));
  EXPECT_FALSE(open_to_all.load(Key("k")));
  open_to_all.remove(Key("k"));
  open_to_all.trim();
  EXPECT_EQ(lines.count(), 1) << lines.text();
  EXPECT_NE(lines.text().find("kept in memory only"), std::string::npos);
  EXPECT_TRUE(names_in(folder.path()).empty());

  std::string foreign = "/usr";
  const Folder given;
  if (geteuid() == 0) {
    foreign = given.path();
    ASSERT_EQ(chown(foreign.c_str(), 65534, 65534), 0);
  }
  DiskCache of_another({foreign, 1 << 20, lines.log()});
  EXPECT_FALSE(of_another.usable());
  EXPECT_NE(of_another.refusal().find("belongs to another user"), std::string::npos);

  write_text(given.path("file"), "x");
  DiskCache in_a_file({given.path("file/cache"), 1 << 20, lines.log()});
  EXPECT_FALSE(in_a_file.usable());
  EXPECT_NE(in_a_file.refusal().find("Not a directory"), std::string::npos) << in_a_file.refusal();

  DiskCache none({"", 1 << 20, lines.log()});
  EXPECT_FALSE(none.usable());
  EXPECT_EQ(none.refusal(), "");
  EXPECT_EQ(lines.count(), 3) << lines.text();
}

TEST(JitDiskCache, AnyDamageIsAMissAndIsRepaired) {
  const Folder folder;
  const Key key("the key of a kernel");
  std::mt19937 random(7);
  const Bytes payload = [&] {
    Bytes bytes(3000);
    for (auto& byte : bytes) byte = static_cast<unsigned char>(random());
    return bytes;
  }();
  DiskCache cache({folder.path()});
  ASSERT_TRUE(cache.store(key, payload));
  const std::string path = only_entry(folder);
  const std::string good = read_text(path);
  // Every byte of the header and the key, and random ones of the rest.
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < 56 + key.text.size(); ++i) places.push_back(i);
  for (int i = 0; i < 200; ++i) places.push_back(random() % good.size());
  for (const std::size_t place : places) {
    std::string bad = good;
    bad[place] = static_cast<char>(bad[place] ^ (1 << random() % 8));
    write_text(path, bad);
    ASSERT_FALSE(cache.load(key)) << "bit flipped in byte " << place;
    ASSERT_FALSE(fs::exists(path)) << "byte " << place;
    ASSERT_TRUE(cache.store(key, payload));
    ASSERT_EQ(cache.load(key), payload);
  }
  for (std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{55}, std::size_t{56},
                           good.size() / 2, good.size() - 1}) {
    write_text(path, good.substr(0, size));
    ASSERT_FALSE(cache.load(key)) << "cut to " << size;
    ASSERT_FALSE(fs::exists(path));
  }
  for (const std::string& bad :
       {good + "x", std::string("just text"), std::string(1 << 20, '\xff')}) {
    write_text(path, bad);
    ASSERT_FALSE(cache.load(key));
  }
  ASSERT_TRUE(cache.store(key, payload));
  EXPECT_EQ(cache.load(key), payload);
}

TEST(JitDiskCache, OtherThingsUnderTheEntrysName) {
  const Folder folder, elsewhere;
  LogLines lines;
  const Key key("k");
  const Bytes payload = bytes_of("payload");
  DiskCache cache({folder.path(), 1 << 20, lines.log()});
  ASSERT_TRUE(cache.store(key, payload));
  const std::string path = only_entry(folder);
  const std::string good = read_text(path);
  const std::string target = elsewhere.path("good");
  write_text(target, good);
  const std::map<std::string, std::function<void()>> things = {
      {"folder", [&] { fs::create_directory(path); }},
      {"full folder", [&] { fs::create_directories(path + "/sub"), write_text(path + "/f", "x"); }},
      {"link", [&] { fs::create_symlink(target, path); }},
      {"link to nothing", [&] { fs::create_symlink(elsewhere.path("gone"), path); }},
      {"pipe", [&] { ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); }},
  };
  for (const auto& [name, make] : things) {
    cache.remove(key);
    make();
    EXPECT_FALSE(cache.load(key)) << name;
    EXPECT_TRUE(cache.store(key, payload)) << name;
    EXPECT_EQ(cache.load(key), payload) << name;
    // Also when the thing appears between the miss and the store.
    cache.remove(key);
    make();
    EXPECT_TRUE(cache.store(key, payload)) << name;
    EXPECT_EQ(cache.load(key), payload) << name;
  }
  EXPECT_TRUE(fs::exists(target));
  EXPECT_LE(lines.count(), 1) << lines.text();
}

Digest eight_bits(std::string_view text) {
  Digest digest{};
  digest[0] = sha256(text)[0];
  return digest;
}

TEST(JitDiskCache, EqualHashesOfDifferentKeysAreMisses) {
  const Folder folder;
  DiskCache cache({folder.path()});
  const auto payload = [](int i) { return bytes_of(fmt::format("payload {}", i)); };
  const auto key = [](int i) { return Key(fmt::format("key {}", i), eight_bits); };
  for (int i = 0; i < 600; ++i) ASSERT_TRUE(cache.store(key(i), payload(i)));
  int hits = 0;
  for (int i = 0; i < 600; ++i) {
    const auto loaded = cache.load(key(i));
    if (loaded) {
      EXPECT_EQ(*loaded, payload(i));
    }
    hits += loaded.has_value();
  }
  // A miss does not remove the other key's entry: one hit is left for each file.
  EXPECT_EQ(hits, static_cast<int>(names_in(folder.path()).size()));
  EXPECT_GT(hits, 100);
}

TEST(JitDiskCache, DropsTheLeastRecentlyUsed) {
  const Folder folder;
  constexpr int kEntries = 12;
  constexpr std::size_t kPayload = 10000;
  const auto key = [](int i) { return Key(fmt::format("key {}", i)); };
  const auto path = [&](int i) { return folder.path(to_hex(key(i).hash) + ".kernel"); };
  DiskCache cache({folder.path(), 1 << 20});
  for (int i = 0; i < kEntries; ++i) {
    ASSERT_TRUE(cache.store(key(i), Bytes(kPayload)));
    age(path(i), 100000 - 1000 * i);
  }
  write_text(folder.path("a users file.txt"), std::string(50000, 'x'));
  write_text(folder.path("failed-0123.cpp"), std::string(kPayload, 'x'));
  age(folder.path("failed-0123.cpp"), 200000);
  EXPECT_TRUE(cache.load(key(0)));  // the oldest becomes the newest

  DiskCache small({folder.path(), 100000});
  small.trim();
  EXPECT_TRUE(fs::exists(path(0)));
  EXPECT_TRUE(fs::exists(folder.path("a users file.txt")));
  EXPECT_FALSE(fs::exists(folder.path("failed-0123.cpp")));
  std::uint64_t total = 0;
  for (int i = 1; i < kEntries; ++i) {
    const bool kept = fs::exists(path(i));
    if (kept) total += fs::file_size(path(i));
    if (i > 1) {
      EXPECT_GE(kept, fs::exists(path(i - 1))) << "a newer entry went first: " << i;
    }
  }
  EXPECT_GT(total, 50000u);
  EXPECT_LE(total, 75000u);
  EXPECT_FALSE(small.store(Key("too large"), Bytes(100000)));
}

TEST(JitDiskCache, StaysBelowItsLimit) {
  const Folder folder;
  constexpr std::uint64_t kLimit = 200000;
  DiskCache cache({folder.path(), kLimit});
  std::uint64_t most = 0;
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(cache.store(Key(fmt::format("key {}", i)), Bytes(5000)));
    std::uint64_t total = 0;
    for (const auto& entry : fs::directory_iterator(folder.path())) total += entry.file_size();
    most = std::max(most, total);
  }
  EXPECT_GT(most, kLimit / 2);
  EXPECT_LE(most, kLimit + kLimit / 8 + 6000);
}

TEST(JitDiskCache, SweepsTemporaryFilesOfDeadWriters) {
  const Folder folder;
  write_text(folder.path(".tmp-0123456789abcdef"), "half an entry");
  write_text(folder.path(".tmp-fedcba9876543210"), "being written");
  age(folder.path(".tmp-0123456789abcdef"), 3600);
  DiskCache cache({folder.path()});
  ASSERT_TRUE(cache.store(Key("k"), bytes_of("p")));
  EXPECT_FALSE(fs::exists(folder.path(".tmp-0123456789abcdef")));
  EXPECT_TRUE(fs::exists(folder.path(".tmp-fedcba9876543210")));
}

TEST(JitDiskCache, ARelativeFolderStaysWhereItWas) {
  const Folder folder, elsewhere;
  Child child([&]() -> std::string {
    if (chdir(folder.path().c_str()) != 0) return "chdir";
    DiskCache cache({"cache"});
    if (chdir(elsewhere.path().c_str()) != 0) return "chdir";
    if (!cache.store(Key("k"), bytes_of("p"))) return "not stored";
    return cache.folder() == folder.path("cache") ? "" : cache.folder();
  });
  EXPECT_EQ(child.report(), "");
  EXPECT_EQ(names_in(folder.path("cache")).size(), 1u);
  EXPECT_TRUE(names_in(elsewhere.path()).empty());
}

}  // namespace
}  // namespace ingot::jit::testing
