#include <cmath>
#include <limits>

#include <ingot/kernels/core/check.h>
#include <ingot/kernels/cpu/data_random.h>
#include <ingot/kernels/cpu/iterate.h>
#include <ingot/kernels/cpu/loops.h>

namespace ingot {

namespace {

constexpr i64 kDrawnTile = 1024;  // elements; a multiple of what a block gives
constexpr i64 kTilesPerThread = 32;

CopyLoops::Cast cast_between(DType from, DType to) {
  return loops().copy->cast[static_cast<int>(from)][static_cast<int>(to)];
}

RandomStream stream_at(const Ticket& ticket, i64 element, i64 per_block) {
  return {ticket.seed, ticket.offset + static_cast<std::uint64_t>(element / per_block)};
}

// Calls piece(begin, end) over [0, n) on several threads, cut at whole tiles.
template <class F>
void for_tiles(i64 n, F&& piece) {
  parallel_for((n + kDrawnTile - 1) / kDrawnTile, kTilesPerThread, [&](i64 first, i64 last) {
    piece(first * kDrawnTile, last * kDrawnTile < n ? last * kDrawnTile : n);
  });
}

// Elements [begin, begin + n) of the nest's logical order between operand `k` and dense memory.
void unpack(const Nest& nest, int k, i64 begin, i64 n, const char* dense) {
  const int item = nest.item_size(k);
  const auto move = loops().copy->move[item_log2(item)];
  nest.walk(begin, begin + n, [&](i64 run, char* const* at) {
    move(run, at[k], nest.run_strides()[k], dense, 1);
    dense += run * item;
  });
}
void pack(const Nest& nest, int k, i64 begin, i64 n, char* dense) {
  const int item = nest.item_size(k);
  const auto move = loops().copy->move[item_log2(item)];
  nest.walk(begin, begin + n, [&](i64 run, char* const* at) {
    move(run, dense, 1, at[k], nest.run_strides()[k]);
    dense += run * item;
  });
}

// Fills `out` with draws: generate(n, memory, stream) makes dense elements of dtype `made`, of
// which `per_block` come from one Philox block.
template <class Generate>
void fill(const KernelArgs& args, DType made, i64 per_block, Generate generate) {
  const BufferView& out = args.out[0];
  const Meta& meta = *out.meta;
  const i64 n = meta.numel();
  if (made == meta.dtype && is_contiguous(meta)) {
    return for_tiles(n, [&](i64 begin, i64 end) {
      generate(end - begin, static_cast<char*>(out.data) + begin * item_size(made),
               stream_at(args.ticket, begin, per_block));
    });
  }
  Nest nest(meta.sizes);
  nest.add(out.data, meta.strides, item_size(meta.dtype));
  nest.merge();
  const CopyLoops::Cast cast = cast_between(made, meta.dtype);
  for_tiles(n, [&](i64 begin, i64 end) {
    alignas(64) char drawn[kDrawnTile * 8], stored[kDrawnTile * 8];
    for (i64 first = begin; first < end; first += kDrawnTile) {
      const i64 count = end - first < kDrawnTile ? end - first : kDrawnTile;
      generate(count, drawn, stream_at(args.ticket, first, per_block));
      cast(count, stored, drawn);
      unpack(nest, 0, first, count, stored);
    }
  });
}

// The largest value of a floating dtype below `bound`, as double.
double below(double bound, DType dtype) {
  if (dtype == DType::f64) return std::nextafter(bound, -std::numeric_limits<double>::infinity());
  const float nearest = static_cast<float>(bound);
  if (dtype == DType::f32) {
    return nearest < bound ? nearest
                           : std::nextafter(nearest, -std::numeric_limits<float>::infinity());
  }
  std::uint16_t bits;
  float value;
  cast_between(DType::f32, dtype)(1, &bits, &nearest);
  cast_between(dtype, DType::f32)(1, &value, &bits);
  if (value < bound) return value;
  // One step down in sign and magnitude; below zero comes the smallest negative number.
  bits = static_cast<std::uint16_t>(value == 0 ? 0x8001 : value > 0 ? bits - 1 : bits + 1);
  cast_between(dtype, DType::f32)(1, &value, &bits);
  return value;
}

// The integers that a dtype can hold.
struct Range {
  i64 least = std::numeric_limits<i64>::min(), greatest = std::numeric_limits<i64>::max();
  explicit Range(DType dtype) {
    if (dtype == DType::i32) {
      least = std::numeric_limits<std::int32_t>::min();
      greatest = std::numeric_limits<std::int32_t>::max();
    } else if (dtype == DType::u8 || dtype == DType::boolean) {
      least = 0;
      greatest = dtype == DType::u8 ? 255 : 1;
    } else if (dtype == DType::f16) {
      greatest = 65504;
      least = -greatest;
    }
  }
};

void check_floating(const KernelArgs& args) {
  const DType dtype = args.out[0].meta->dtype;
  INGOT_CHECK(is_floating_point(dtype), "{}: needs a floating dtype, got {}", args.op.name,
              name(dtype));
}

}  // namespace

UniformDraw uniform_draw(const KernelArgs& args) {
  check_floating(args);
  const double low = args.attrs.s[0].to_double(), high = args.attrs.s[1].to_double();
  const DType dtype = args.out[0].meta->dtype;
  const double limit = compute_type(dtype) == DType::f64 ? std::numeric_limits<double>::max()
                                                         : std::numeric_limits<float>::max();
  INGOT_CHECK(low <= high && high - low <= limit && std::fabs(low) <= limit,
              "{}: no uniform numbers of {} in [{}, {})", args.op.name, name(dtype), low, high);
  return {low, high - low, low == high ? low : std::fmax(low, below(high, dtype))};
}

NormalDraw normal_draw(const KernelArgs& args) {
  check_floating(args);
  const double mean = args.attrs.s[0].to_double(), deviation = args.attrs.s[1].to_double();
  INGOT_CHECK(deviation >= 0, "{}: the standard deviation must not be negative, got {}",
              args.op.name, deviation);
  return {mean, deviation};
}

IntegerDraw integer_draw(const KernelArgs& args) {
  const i64 low = args.attrs.s[0].to_int(), high = args.attrs.s[1].to_int();
  const DType dtype = args.out[0].meta->dtype;
  INGOT_CHECK(low < high, "randint: no integers in [{}, {})", low, high);
  const Range range(dtype);
  INGOT_CHECK(low >= range.least && high - 1 <= range.greatest, "randint: [{}, {}) does not fit {}",
              low, high, name(dtype));
  const std::uint64_t width = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  const bool wide = dtype == DType::i64 || dtype == DType::f64;
  INGOT_CHECK(wide || width <= std::uint64_t{1} << 32,
              "randint: [{}, {}) is wider than the 32 bits that {} draws", low, high, name(dtype));
  return {low, width, wide};
}

// u >= p for u = k / 2^24, in whole numbers.
std::uint32_t dropout_threshold(double p) {
  return static_cast<std::uint32_t>(std::ceil(p * 0x1p24));
}

void cpu_uniform(const KernelArgs& args) {
  const UniformDraw draw = uniform_draw(args);
  const DType compute = compute_type(args.out[0].meta->dtype);
  const RandomLoops& random = *loops().random;
  if (compute == DType::f64) {
    fill(args, compute, 2, [&](i64 n, void* to, RandomStream s) {
      random.uniform_f64(n, static_cast<double*>(to), s, draw.low, draw.width, draw.last);
    });
  } else {
    fill(args, compute, 4, [&](i64 n, void* to, RandomStream s) {
      random.uniform_f32(n, static_cast<float*>(to), s, static_cast<float>(draw.low),
                         static_cast<float>(draw.width), static_cast<float>(draw.last));
    });
  }
}

void cpu_normal(const KernelArgs& args) {
  const NormalDraw draw = normal_draw(args);
  const DType compute = compute_type(args.out[0].meta->dtype);
  const RandomLoops& random = *loops().random;
  if (compute == DType::f64) {
    fill(args, compute, 2, [&](i64 n, void* to, RandomStream s) {
      random.normal_f64(n, static_cast<double*>(to), s, draw.mean, draw.deviation);
    });
  } else {
    fill(args, compute, 4, [&](i64 n, void* to, RandomStream s) {
      random.normal_f32(n, static_cast<float*>(to), s, static_cast<float>(draw.mean),
                        static_cast<float>(draw.deviation));
    });
  }
}

void cpu_randint(const KernelArgs& args) {
  const IntegerDraw draw = integer_draw(args);
  const RandomLoops& random = *loops().random;
  const auto integers = draw.wide ? random.integers_64 : random.integers_32;
  fill(args, DType::i64, draw.wide ? 2 : 4, [&](i64 n, void* to, RandomStream s) {
    integers(n, static_cast<i64*>(to), s, draw.low, draw.width);
  });
}

void cpu_dropout(const KernelArgs& args) {
  const Meta& meta = *args.out[0].meta;
  const DType dtype = meta.dtype, compute = compute_type(dtype);
  const double p = args.attrs.s[0].to_double(), scale = args.attrs.s[1].to_double();
  const std::uint32_t threshold = dropout_threshold(p);
  const RandomLoops& random = *loops().random;
  const CopyLoops::Cast widen = cast_between(dtype, compute), narrow = cast_between(compute, dtype);
  const int item = item_size(dtype);

  Nest nest(meta.sizes);
  nest.add(args.out[0].data, meta.strides, item);
  nest.add(args.out[1].data, args.out[1].meta->strides, 1);
  nest.add(args.in[0].data, args.in[0].meta->strides, item);
  nest.merge();
  const bool dense =
      nest.dim() == 1 && nest.stride(0, 0) == 1 && nest.stride(0, 1) == 1 && nest.stride(0, 2) == 1;
  for_tiles(meta.numel(), [&](i64 begin, i64 end) {
    alignas(64) char x[kDrawnTile * 8], y[kDrawnTile * 8], packed[kDrawnTile * 8];
    unsigned char kept[kDrawnTile];
    for (i64 first = begin; first < end; first += kDrawnTile) {
      const i64 n = end - first < kDrawnTile ? end - first : kDrawnTile;
      random.keep(n, kept, stream_at(args.ticket, first, 4), threshold);
      const char* from = nest.data(2) + first * item;
      if (!dense) {
        pack(nest, 2, first, n, packed);
        from = packed;
      }
      widen(n, x, from);
      if (compute == DType::f64) {
        random.masked_f64(n, reinterpret_cast<double*>(y), reinterpret_cast<double*>(x), kept,
                          scale);
      } else {
        random.masked_f32(n, reinterpret_cast<float*>(y), reinterpret_cast<float*>(x), kept,
                          static_cast<float>(scale));
      }
      if (dense) {
        narrow(n, nest.data(0) + first * item, y);
        loops().copy->move[0](n, nest.data(1) + first, 1, kept, 1);
      } else {
        narrow(n, packed, y);
        unpack(nest, 0, first, n, packed);
        unpack(nest, 1, first, n, reinterpret_cast<const char*>(kept));
      }
    }
  });
}

}  // namespace ingot
