#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include <ingot/kernels/core/error.h>
#include <ingot/profiler/out_file.h>

#include "fake_events.h"

namespace ingot::profiler {
namespace {

std::size_t files_in(const std::string& folder) {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++n;
  return n;
}

TEST(OutFile, AppearsWithCommitOnly) {
  TempFolder folder;
  {
    OutFile file("test", folder / "a.txt");
    file.write("abc");
    EXPECT_FALSE(std::filesystem::exists(folder / "a.txt"));
  }
  EXPECT_EQ(files_in(folder.path()), 0u);
  OutFile file("test", folder / "a.txt");
  file.write("abc");
  file.write(std::string(1'000'000, 'x'));
  file.commit();
  EXPECT_EQ(read_text(folder / "a.txt").size(), 1'000'003u);
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(OutFile, GzipByName) {
  TempFolder folder;
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i) + "\n";
  OutFile file("test", folder / "a.json.gz");
  file.write(text);
  file.commit();
  std::string raw = read_text(folder / "a.json.gz");
  ASSERT_GT(raw.size(), 2u);
  EXPECT_EQ(static_cast<unsigned char>(raw[0]), 0x1F);
  EXPECT_EQ(static_cast<unsigned char>(raw[1]), 0x8B);
  EXPECT_LT(raw.size(), text.size() / 2);
  EXPECT_EQ(read_gzip(folder / "a.json.gz"), text);
}

TEST(OutFile, ErrorsNameTheFileAndTheReason) {
  TempFolder folder;
  const std::string path = folder / "missing/a.json";
  try {
    OutFile file("export_chrome_trace", path);
    FAIL() << "no error";
  } catch (const FileError& e) {
    EXPECT_EQ(std::string(e.what()),
              "export_chrome_trace: cannot write " + path + ": No such file or directory");
  }
  std::filesystem::create_directory(folder / "taken");
  std::filesystem::create_directory(folder / "taken/inside");
  OutFile file("test", folder / "taken");
  EXPECT_THROW(file.commit(), FileError);
}

// A rename would put a file in the place of the device, or of the link.
TEST(OutFile, WhatIsNoFileIsWrittenTo) {
  TempFolder folder;
  const std::string pipe = folder / "pipe", link = folder / "link", file = folder / "file";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  OutFile through("test", pipe);
  through.write("abc");
  through.commit();
  char got[4] = {};
  EXPECT_EQ(::read(reader, got, sizeof got), 3);
  EXPECT_STREQ(got, "abc");
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));

  OutFile("test", file).commit();
  std::filesystem::create_symlink(file, link);
  OutFile linked("test", link);
  linked.write("new");
  linked.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(read_text(file), "new");
  EXPECT_EQ(files_in(folder.path()), 3u);
}

TEST(OutFile, ManyWritersOfOneName) {
  TempFolder folder;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        OutFile file("test", folder / "same.txt");
        file.write(std::string(1000, static_cast<char>('a' + t)));
        file.commit();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  std::string text = read_text(folder / "same.txt");
  EXPECT_EQ(text, std::string(1000, text.at(0)));
  EXPECT_EQ(files_in(folder.path()), 1u);
}

}  // namespace
}  // namespace ingot::profiler
