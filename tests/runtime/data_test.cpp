#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <set>

#include <gtest/gtest.h>
#include <zlib.h>

#include <ingot/kernels/cuda/device.h>
#include <ingot/runtime/data/data.h>
#include <ingot/runtime/data/permutation.h>
#include <ingot/runtime/ops.h>

#include "permutation_golden.h"

namespace ingot {
namespace {

using Bytes = std::vector<std::uint8_t>;

class Files : public ::testing::Test {
 protected:
  Files() {
    std::string folder = (std::filesystem::temp_directory_path() / "ingot-data-XXXXXX").string();
    dir = mkdtemp(folder.data());
  }
  ~Files() override { std::filesystem::remove_all(dir); }

  std::string path(const std::string& name) const { return (dir / name).string(); }
  std::string write(const std::string& name, const Bytes& bytes) const {
    std::ofstream file(path(name), std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path(name);
  }
  std::string write(const std::string& name, const std::string& text) const {
    return write(name, Bytes(text.begin(), text.end()));
  }

  std::filesystem::path dir;
};

Bytes idx_bytes(const std::vector<std::uint32_t>& sizes, const Bytes& data, std::uint8_t type = 8) {
  Bytes bytes = {0, 0, type, static_cast<std::uint8_t>(sizes.size())};
  for (std::uint32_t size : sizes) {
    for (int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<std::uint8_t>(size >> shift));
  }
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

Bytes gzip(const Bytes& bytes) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes out(deflateBound(&z, bytes.size()));
  z.next_in = const_cast<Bytef*>(bytes.data());
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = out.data();
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

Bytes ramp(std::size_t n) {
  Bytes bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + 3);
  return bytes;
}

// One sentence, with the file and the caller's line.
void expect_file_error(const std::function<void()>& act, const std::string& file,
                       const std::string& part) {
  try {
    act();
    ADD_FAILURE() << "accepted; expected: " << part;
  } catch (const FileError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find(file), std::string::npos) << what;
    EXPECT_NE(what.find(part), std::string::npos) << what;
    EXPECT_NE(what.find("; at data_test.cpp:"), std::string::npos) << what;
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
  }
}

using Idx = Files;

TEST_F(Idx, PlainAndCompressedGiveTheSame) {
  const Bytes data = ramp(2 * 3 * 4);
  const Bytes file = idx_bytes({2, 3, 4}, data);
  for (const std::string& name : {write("plain", file), write("packed.gz", gzip(file)),
                                  write("plain.gz", file), write("packed", gzip(file))}) {
    const Tensor t = data::read_idx(name);
    EXPECT_EQ(t.dtype(), kUInt8);
    EXPECT_EQ(t.sizes(), (Dims{2, 3, 4}));
    EXPECT_EQ(t.to_vector<std::uint8_t>(), data);
  }
  EXPECT_EQ(data::read_idx(write("empty", idx_bytes({0, 3}, {}))).sizes(), (Dims{0, 3}));
}

TEST_F(Idx, AFileOfSeveralGzipMembersIsOneFile) {
  const Bytes data = ramp(1000), file = idx_bytes({1000}, data);
  Bytes two = gzip(Bytes(file.begin(), file.begin() + 300));
  const Bytes rest = gzip(Bytes(file.begin() + 300, file.end()));
  two.insert(two.end(), rest.begin(), rest.end());
  EXPECT_EQ(data::read_idx(write("two.gz", two)).to_vector<std::uint8_t>(), data);
}

TEST_F(Idx, DamageIsNamed) {
  const Bytes good = idx_bytes({2, 3, 4}, ramp(24)), packed = gzip(good);
  const auto expect = [&](const std::string& name, const Bytes& bytes, const std::string& part,
                          int dims = 3) {
    const std::string file = write(name, bytes);
    expect_file_error([&] { (void)data::read_idx(file, dims); }, file, part);
  };
  expect("short", Bytes(good.begin(), good.end() - 1),
         "is truncated: 23 of 24 bytes of data for shape [2, 3, 4]");
  expect("header", Bytes(good.begin(), good.begin() + 9), "its header of 3 sizes is not whole");
  expect("magic", {0, 0}, "is truncated: 2 of the 4 bytes");
  expect("nothing", {}, "is truncated: 0 of the 4 bytes");
  Bytes longer = good;
  longer.push_back(1);
  expect("longer", longer, "has trailing bytes after the data");
  expect("longer.gz", gzip(longer), "has trailing bytes after the data");

  expect("swapped", {3, 8, 0, 0, 2, 0, 0, 0},
         "little-endian order): magic 50855936 (0x03080000), wanted 2051");
  expect("text", {'h', 'e', 'l', 'l', 'o'}, "is not an IDX file: magic 1751477356");
  expect("labels", idx_bytes({4}, ramp(4)), "found magic 2049, wanted 2051");
  expect("floats", idx_bytes({1, 1, 1}, ramp(4), 0x0d), "holds elements of type 0x0d");
  expect("axes", {0, 0, 8, 200, 0, 0, 0, 1}, "holds a 200-d array", 0);
  expect("twice.gz", gzip(packed), "looks gzip-compressed twice: magic 529205248");

  for (std::size_t cut :
       {packed.size() - 1, packed.size() - 8, packed.size() / 2, std::size_t{5}}) {
    expect("cut.gz", Bytes(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(cut)),
           "is truncated: its gzip data ends too early");
  }
  Bytes flipped = packed;
  flipped[flipped.size() - 6] ^= 0x10;  // in the checksum
  expect("flipped.gz", flipped, "is damaged: its gzip data has an incorrect data check");
  expect("garbage.gz", {0x1f, 0x8b, 0x08, 0x00, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff}, "is damaged");
  for (const Bytes& tail : {Bytes{0}, Bytes{'x', 'y', 'z'}, Bytes(100, 0), Bytes{0x1f}}) {
    Bytes trailing = packed;
    trailing.insert(trailing.end(), tail.begin(), tail.end());
    expect("trailing.gz", trailing, "has trailing bytes after its gzip data");
  }
}

TEST_F(Idx, ALyingHeaderAsksForNoMemory) {
  const std::string huge =
      write("huge", idx_bytes({0xffffffff, 0xffffffff, 0xffffffff}, ramp(100)));
  expect_file_error([&] { (void)data::read_idx(huge); }, huge, "claims an impossible shape");
  const std::string large = write("large", idx_bytes({0xffffffff, 0x1000, 1}, ramp(100)));
  expect_file_error([&] { (void)data::read_idx(large); }, large,
                    "is truncated: 100 of 17592186040320 bytes");
  const std::string none = write("none", idx_bytes({0, 0xffffffff, 0xffffffff, 1}, {}));
  expect_file_error([&] { (void)data::read_idx(none); }, none, "claims an impossible shape");
  EXPECT_EQ(data::read_idx(write("flat", idx_bytes({0, 0xffffffff}, {}))).numel(), 0);
}

TEST_F(Idx, MissingFilesAreNamed) {
  expect_file_error([&] { (void)data::read_idx(path("absent")); }, path("absent"), "cannot open");
  expect_file_error([&] { (void)data::read_idx(dir.string()); }, dir.string(), "cannot read");
  expect_file_error([&] { (void)data::idx(path("nowhere"), true); }, path("nowhere"),
                    "is not a folder");
  expect_file_error([&] { (void)data::idx(dir.string(), true); }, dir.string(),
                    "holds no train-images-idx3-ubyte");
}

TEST_F(Idx, FolderIsFoundInItsSpellings) {
  const Bytes images = ramp(3 * 2 * 2);
  write("train-images-idx3-ubyte.gz", gzip(idx_bytes({3, 2, 2}, images)));
  write("train-labels-idx1-ubyte", idx_bytes({3}, {9, 0, 4}));
  write("t10k-images.idx3-ubyte", idx_bytes({1, 2, 2}, {0, 0, 0, 1}));
  write("t10k-labels.idx1-ubyte", idx_bytes({1}, {2}));
  const data::Dataset train = data::idx(dir.string(), true);
  EXPECT_EQ(train.x().sizes(), (Dims{3, 2, 2}));
  EXPECT_EQ(train.x().to_vector<std::uint8_t>(), images);
  EXPECT_EQ(train.y().to_vector<i64>(), (std::vector<i64>{9, 0, 4}));
  EXPECT_EQ(data::idx(dir.string(), false).size(), 1);
}

TEST_F(Idx, FilesThatDoNotFitAreNamed) {
  const std::string images = write("train-images-idx3-ubyte", idx_bytes({3, 2, 2}, ramp(12)));
  const std::string labels = write("train-labels-idx1-ubyte", idx_bytes({2}, {1, 2}));
  expect_file_error([&] { (void)data::idx(dir.string(), true); }, images,
                    "holds 3 images, but " + labels + " holds 2 labels");
  write("train-labels-idx1-ubyte", idx_bytes({3}, {1, 200, 2}));
  expect_file_error([&] { (void)data::idx(dir.string(), true); }, labels,
                    "holds label 200 at row 1, but there are 10 classes");
  EXPECT_EQ(data::idx(dir.string(), true, 201).size(), 3);
  write("train-images-idx3-ubyte", idx_bytes({3, 2, 2}, Bytes(12, 0)));
  write("train-labels-idx1-ubyte", idx_bytes({3}, {1, 0, 2}));
  expect_file_error([&] { (void)data::idx(dir.string(), true); }, images,
                    "each of its pixels is 0");
}

TEST(RealData, FashionMnistHasItsKnownFigures) {
  const std::string dir = "/usr/share/datasets/fashion-mnist";
  if (!std::filesystem::is_directory(dir)) GTEST_SKIP() << dir << " is not installed";
  const data::Dataset train = data::idx(dir, true), test = data::idx(dir, false);
  EXPECT_EQ(train.x().sizes(), (Dims{60000, 28, 28}));
  EXPECT_EQ(test.x().sizes(), (Dims{10000, 28, 28}));
  // As published with the data set's loaders: mean 0.2860, standard deviation 0.3530.
  EXPECT_NEAR(train.mean_std().mean, 0.2860, 5e-5);
  EXPECT_NEAR(train.mean_std().std, 0.3530, 5e-5);
  std::vector<i64> count(10);
  for (i64 label : train.y().to_vector<i64>()) ++count[static_cast<std::size_t>(label)];
  EXPECT_EQ(count, std::vector<i64>(10, 6000));
}

// Rows that tell their number: x[i] = {i, -i}, y[i] = 10 i.
data::Dataset numbered(i64 rows) {
  std::vector<float> x;
  std::vector<i64> y;
  for (i64 i = 0; i < rows; ++i) {
    x.push_back(static_cast<float>(i));
    x.push_back(static_cast<float>(-i));
    y.push_back(10 * i);
  }
  return {from_vector(x, {rows, 2}, kCPU), from_vector(y, {rows}, kCPU)};
}

std::vector<i64> rows_of_epoch(const data::DataLoader& loader) {
  std::vector<i64> rows;
  for (auto [x, y] : loader) {
    EXPECT_EQ(x.size(0), y.size(0));
    EXPECT_EQ(x.dtype(), kFloat32);
    const auto xs = x.to_vector<float>();
    const auto ys = y.to_vector<i64>();
    for (std::size_t i = 0; i < ys.size(); ++i) {
      EXPECT_EQ(xs[2 * i], static_cast<float>(ys[i] / 10));
      EXPECT_EQ(xs[2 * i + 1], -xs[2 * i]);
      rows.push_back(ys[i] / 10);
    }
  }
  return rows;
}

TEST(Loader, InOrderWithAShortLastBatch) {
  std::vector<i64> all(10);
  std::iota(all.begin(), all.end(), 0);
  const data::DataLoader loader(numbered(10), {.batch_size = 4});
  EXPECT_EQ(loader.size(), 3);
  EXPECT_EQ(rows_of_epoch(loader), all);
  const data::DataLoader dropping(numbered(10), {.batch_size = 4, .drop_last = true});
  EXPECT_EQ(dropping.size(), 2);
  all.resize(8);
  EXPECT_EQ(rows_of_epoch(dropping), all);
  EXPECT_TRUE(rows_of_epoch(data::DataLoader(data::Dataset())).empty());
}

TEST(Loader, EachEpochIsAnotherPermutationOfItsSeed) {
  const data::LoaderOptions options{.batch_size = 7, .shuffle = true, .seed = 5};
  data::DataLoader a(numbered(100), options), b(numbered(100), options);
  std::set<std::vector<i64>> orders;
  for (i64 epoch = 0; epoch < 3; ++epoch) {
    EXPECT_EQ(a.epoch(), epoch);
    const std::vector<i64> rows = rows_of_epoch(a);
    EXPECT_EQ(rows, data::permutation(100, 5, static_cast<std::uint64_t>(epoch)));
    EXPECT_EQ(rows, rows_of_epoch(b));
    std::vector<i64> sorted = rows;
    std::sort(sorted.begin(), sorted.end());
    for (i64 i = 0; i < 100; ++i) ASSERT_EQ(sorted[static_cast<std::size_t>(i)], i);
    orders.insert(rows);
  }
  EXPECT_EQ(orders.size(), 3u);
  a.set_epoch(1);
  EXPECT_EQ(rows_of_epoch(a), data::permutation(100, 5, 1));
  EXPECT_NE(data::permutation(100, 5, 0), data::permutation(100, 6, 0));
}

TEST(Loader, TheOrderIsTheDocumentedOne) {
  for (const golden::Order& want : golden::kOrders) {
    EXPECT_EQ(data::permutation(static_cast<i64>(want.rows.size()), want.seed, want.epoch),
              want.rows);
  }
  EXPECT_TRUE(data::permutation(0, 1, 1).empty());
  EXPECT_EQ(data::permutation(1, 1, 1), std::vector<i64>{0});
}

TEST(Loader, PixelsAreNormalisedByTheTrainingSet) {
  const Bytes pixels = {0, 255, 51, 102};
  data::Dataset set(from_vector(pixels, {2, 2}), from_vector(std::vector<i64>{0, 1}, {2}));
  const data::MeanStd plain = set.mean_std();
  EXPECT_NEAR(plain.mean, (0 + 1 + 0.2 + 0.4) / 4, 1e-15);
  EXPECT_NEAR(plain.std, std::sqrt((0.16 + 0.36 + 0.04 + 0) / 4), 1e-15);
  const auto values = [&] {
    const data::DataLoader loader(set, {.batch_size = 2});
    return (*loader.begin()).x.to_vector<float>();
  };
  EXPECT_EQ(values(), (std::vector<float>{0, 1, 0.2f, 0.4f}));
  set.normalize({.mean = 0.4, .std = 0.5});
  EXPECT_EQ(values(), (std::vector<float>{-0.8f, 1.2f, -0.4f, 0}));
}

TEST(Loader, FloatsAreNormalised) {
  data::Dataset set(tensor({1, 3, 5, 7}).reshape({2, 2}), tensor({0.5, 1.5}));
  EXPECT_EQ(set.mean_std().mean, 4);
  EXPECT_NEAR(set.mean_std().std, std::sqrt(5.0), 1e-15);
  set.normalize({.mean = 4, .std = 2});
  const data::DataLoader loader(set, {.batch_size = 2});
  const data::Batch batch = *loader.begin();
  EXPECT_EQ(batch.x.to_vector<float>(), (std::vector<float>{-1.5, -0.5, 0.5, 1.5}));
  EXPECT_EQ(batch.y.to_vector<float>(), (std::vector<float>{0.5, 1.5}));
}

TEST(Loader, BatchesAreOnesOwn) {
  const data::DataLoader loader(numbered(4), {.batch_size = 4});
  Tensor first = (*loader.begin()).x;
  first.zero_();
  EXPECT_EQ((*loader.begin()).x.to_vector<float>()[2], 1);
}

TEST(Loader, PinMemoryNeedsNoGpu) {
  if (cuda::is_available()) GTEST_SKIP() << "there is a GPU";
  const data::DataLoader plain(numbered(10), {.batch_size = 4});
  const data::DataLoader pinning(numbered(10), {.batch_size = 4, .pin_memory = true});
  EXPECT_EQ(rows_of_epoch(pinning), rows_of_epoch(plain));
  EXPECT_FALSE((*pinning.begin()).x.is_pinned());
}

TEST(LoaderGpu, PinnedBatchesAreCopiedWithoutWaiting) {
  if (!cuda::is_available()) GTEST_SKIP() << "no GPU: " << cuda::unavailable_reason();
  const data::DataLoader host(numbered(64), {.batch_size = 8, .pin_memory = true});
  const data::DataLoader device(numbered(64),
                                {.batch_size = 8, .device = kCUDA, .pin_memory = true});
  EXPECT_TRUE((*host.begin()).x.is_pinned());
  EXPECT_TRUE((*host.begin()).y.is_pinned());
  // Many batches at a time, each freed before its copy is known to be done.
  std::vector<data::Batch> copies;
  for (auto [x, y] : host) copies.push_back({x.to(kCUDA, true), y.to(kCUDA, true)});
  for (auto [x, y] : device) copies.push_back({x, y});
  ASSERT_EQ(copies.size(), 16u);
  for (std::size_t b = 0; b < copies.size(); ++b) {
    EXPECT_TRUE(copies[b].x.device().is_cuda());
    const std::vector<i64> y = copies[b].y.to_vector<i64>();
    for (std::size_t i = 0; i < y.size(); ++i) {
      EXPECT_EQ(y[i], static_cast<i64>(10 * (8 * (b % 8) + i)));
      EXPECT_EQ(copies[b].x[static_cast<i64>(i)][0].item<float>(), static_cast<float>(y[i] / 10));
    }
  }
}

TEST(Loader, MistakesAreNamed) {
  const auto expect = [](const std::function<void()>& act, const std::string& part) {
    try {
      act();
      ADD_FAILURE() << "accepted; expected: " << part;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  const Tensor y = zeros({3}, kInt64);
  expect([&] { data::Dataset d(zeros({2, 2}), y); }, "Dataset: x has 2 rows, y has 3");
  expect([&] { data::Dataset d(zeros({3}, kFloat64), y); }, "x must be u8 or f32, got f64");
  expect([&] { data::Dataset d(zeros({3}), zeros({3}, kBool)); }, "y must be i64 or f32, got bool");
  expect([&] { data::Dataset d(zeros({}), y); }, "need an axis of rows");
  expect([&] { data::DataLoader l(numbered(3), {.batch_size = 0}); },
         "DataLoader: batch_size must be positive, got 0");
  data::Dataset flat(ones({3}), y);
  expect([&] { flat.normalize(flat.mean_std()); }, "cannot normalise by mean 1 and standard");
}

using Csv = Files;

TEST_F(Csv, NumbersAndClasses) {
  const data::Dataset d = data::csv(
      write("a.csv", "width, \"the \"\"class\"\"\",height\r\n1.5,2,-3e2\r\n\r\n +0.25 ,\"0\",7"),
      "the \"class\"");
  EXPECT_EQ(d.x().sizes(), (Dims{2, 2}));
  EXPECT_EQ(d.x().to_vector<float>(), (std::vector<float>{1.5, -300, 0.25, 7}));
  EXPECT_EQ(d.y().dtype(), kInt64);
  EXPECT_EQ(d.y().to_vector<i64>(), (std::vector<i64>{2, 0}));
}

TEST_F(Csv, AFractionMakesTargetsFloating) {
  const data::Dataset d = data::csv(write("a.csv", "\xef\xbb\xbfy,x\n1,2\n1.5,3\n"), "y");
  EXPECT_EQ(d.y().to_vector<float>(), (std::vector<float>{1, 1.5}));
  EXPECT_EQ(data::csv(write("b.csv", "y,x\n"), "y").size(), 0);
}

TEST_F(Csv, CompressedOnesAreRead) {
  const std::string text = "x,y\n3,1\n";
  EXPECT_EQ(data::csv(write("a.csv.gz", gzip(Bytes(text.begin(), text.end()))), "y").size(), 1);
}

TEST_F(Csv, MistakesAreNamed) {
  const auto expect = [&](const std::string& text, const std::string& part) {
    const std::string file = write("bad.csv", text);
    expect_file_error([&] { (void)data::csv(file, "y"); }, file, part);
  };
  expect("", "is empty");
  expect("a,b\n1,2\n", "has no column \"y\"");
  expect("y,y\n1,2\n", "has several columns \"y\"");
  expect("x,y\n1,2\n3\n", "has 1 cell in line 3, but 2 columns");
  expect("x,y\n1,2,3\n", "has 3 cells in line 2, but 2 columns");
  expect("x,y\n\n1,2\n1,two\n",
         "has \"two\" in line 4, column \"y\", which is not a finite number");
  expect("x,y\n,2\n", "has \"\" in line 2, column \"x\"");
  expect("x,y\n1 2,2\n", "has \"1 2\" in line 2");
  expect("x,y\nnan,2\n", "has \"nan\" in line 2");
  expect("x,y\n1e99,2\n", "has \"1e99\" in line 2");
  expect("x,y\n\"1\n\n2\",1\n", "in line 2, column \"x\"");
  expect("x,y\n1,\"2\n", "has a quote in line 2 that is never closed");
  expect_file_error([&] { (void)data::csv(path("absent.csv"), "y"); }, path("absent.csv"),
                    "cannot open");
}

}  // namespace
}  // namespace ingot
