#include <algorithm>
#include <filesystem>

#include <ingot/kernels/core/check_at.h>
#include <ingot/runtime/data/byte_stream.h>
#include <ingot/runtime/data/idx.h>
#include <ingot/runtime/dispatch.h>
#include <ingot/runtime/ops.h>

namespace ingot::data {

namespace {

constexpr std::uint32_t kU8 = 0x08;

std::uint32_t big_endian(const unsigned char* b) {
  return std::uint32_t{b[0]} << 24 | std::uint32_t{b[1]} << 16 | std::uint32_t{b[2]} << 8 | b[3];
}

// The number of axes, from the first four bytes: 0, 0, the element type, the number.
int check_magic(const std::string& path, const unsigned char* b, int dims, Loc loc) {
  const auto fail = [&]<class... A>(fmt::format_string<A...> text, A&&... args) {
    detail::fail_at<FileError>("idx", loc, "{} {}", path,
                               fmt::format(text, std::forward<A>(args)...));
  };
  const std::uint32_t magic = big_endian(b);
  const int n = b[3];
  std::string wanted = "0x000008.. (u8)";
  if (dims > 0) wanted = fmt::format("{}", kU8 << 8 | static_cast<std::uint32_t>(dims));
  if (b[0] == 0x1f && b[1] == 0x8b) {
    fail("looks gzip-compressed twice: magic {} after decompressing, wanted {}", magic, wanted);
  }
  if (b[0] != 0 || b[1] != 0) {
    const bool swapped = b[2] == 0 && b[3] == 0;
    fail("is not an IDX file{}: magic {} (0x{:08x}), wanted {}",
         swapped ? " (its bytes seem to be in little-endian order)" : "", magic, magic, wanted);
  }
  if (b[2] != kU8) {
    fail("holds elements of type 0x{:02x}: magic {}, wanted {}", b[2], magic, wanted);
  }
  if (n == 0 || n > kMaxDims || (dims > 0 && n != dims)) {
    fail("holds a {}-d array: found magic {}, wanted {}", n, magic, wanted);
  }
  return n;
}

// The first of the usual spellings that exists.
std::string find_file(const std::string& dir, const std::string& stem, char axes, Loc loc) {
  const std::filesystem::path folder(dir);
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    detail::fail_at<FileError>("idx", loc, "{} is not a folder", dir);
  }
  for (const char* separator : {"-", "."}) {
    for (const char* suffix : {"", ".gz"}) {
      const auto path = folder / fmt::format("{}{}idx{}-ubyte{}", stem, separator, axes, suffix);
      if (std::filesystem::exists(path, error)) return path.string();
    }
  }
  detail::fail_at<FileError>("idx", loc, "{} holds no {}-idx{}-ubyte, with or without .gz", dir,
                             stem, axes);
}

}  // namespace

Tensor read_idx(const std::string& path, int dims, Loc loc) {
  ByteStream stream("idx", path, loc);
  unsigned char word[4];
  const std::size_t got = stream.read(word, 4);
  if (got < 4) {
    detail::fail_at<FileError>("idx", loc, "{} is truncated: {} of the 4 bytes of its magic number",
                               path, got);
  }
  const int n_axes = check_magic(path, word, dims, loc);

  Dims sizes;
  i64 strides = 1;  // the product without zeros: strides of an empty array must not overflow either
  bool overflow = false;
  for (int d = 0; d < n_axes; ++d) {
    if (stream.read(word, 4) < 4) {
      detail::fail_at<FileError>("idx", loc, "{} is truncated: its header of {} sizes is not whole",
                                 path, n_axes);
    }
    sizes.push_back(big_endian(word));
    overflow =
        __builtin_mul_overflow(strides, std::max<i64>(sizes.back(), 1), &strides) || overflow;
  }
  if (overflow) {
    detail::fail_at<FileError>("idx", loc, "{} claims an impossible shape, {}", path,
                               to_string(sizes));
  }
  const auto bytes = static_cast<std::size_t>(sizes.product());

  // Grown as the data arrive: a wrong header must not ask for memory that no data follow.
  constexpr std::size_t kStep = std::size_t{1} << 24;
  std::vector<std::uint8_t> values;
  while (values.size() < bytes) {
    const std::size_t before = values.size();
    const std::size_t want = std::min(bytes - before, std::max(kStep, before));
    values.resize(before + want);
    const std::size_t read = stream.read(values.data() + before, want);
    if (read < want) {
      detail::fail_at<FileError>("idx", loc, "{} is truncated: {} of {} bytes of data for shape {}",
                                 path, before + read, bytes, to_string(sizes));
    }
  }
  // At the end zlib also compares the checksum.
  if (stream.read(word, 1) != 0) {
    detail::fail_at<FileError>("idx", loc, "{} has trailing bytes after the data of shape {}", path,
                               to_string(sizes));
  }
  return from_vector(values, sizes, TensorOptions(kUInt8, kCPU), loc);
}

Dataset idx(const std::string& dir, Flag train, i64 classes, Loc loc) {
  const std::string part = train ? "train" : "t10k";
  const std::string image_path = find_file(dir, part + "-images", '3', loc);
  const std::string label_path = find_file(dir, part + "-labels", '1', loc);
  const Tensor images = read_idx(image_path, 3, loc);
  const std::vector<std::uint8_t> labels =
      read_idx(label_path, 1, loc).to_vector<std::uint8_t>(loc);

  const i64 n = static_cast<i64>(labels.size());
  if (images.size(0) != n) {
    detail::fail_at<FileError>("idx", loc, "{} holds {} images, but {} holds {} labels", image_path,
                               images.size(0), label_path, n);
  }
  std::vector<i64> y(labels.begin(), labels.end());
  const auto wrong = std::find_if(y.begin(), y.end(), [&](i64 label) { return label >= classes; });
  if (wrong != y.end()) {
    detail::fail_at<FileError>("idx", loc, "{} holds label {} at row {}, but there are {} classes",
                               label_path, *wrong, wrong - y.begin(), classes);
  }
  const auto* pixels = static_cast<const std::uint8_t*>(bytes_of(images, Access::read, "idx", loc));
  if (n > 0 &&
      std::all_of(pixels, pixels + images.numel(), [](std::uint8_t p) { return p == 0; })) {
    detail::fail_at<FileError>("idx", loc, "{} is damaged: each of its pixels is 0", image_path);
  }
  return Dataset(images, from_vector(y, {n}, TensorOptions(kInt64, kCPU), loc), loc);
}

}  // namespace ingot::data
