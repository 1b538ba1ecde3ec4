// ISA unit: uniform, normal and integer draws, and the mask of dropout.
#include <ingot/kernels/cpu/random_loops.h>
#include <ingot/kernels/ops/philox.h>

namespace ingot {
inline namespace INGOT_ISA {
namespace {

using philox::Word;
using philox::Word64;

constexpr Int64 kBlocks = 64;  // drawn at a time: a few vectors of each word

// The words of consecutive blocks, word by word, as vector code makes them.
struct Words {
  Word w0[kBlocks], w1[kBlocks], w2[kBlocks], w3[kBlocks];
};

INGOT_INLINE void draw_words(Words& out, Int64 blocks, RandomStream s) {
  // The counter's low word may wrap inside the batch; 64-bit lanes carry it into the high word.
  for (Int64 i = 0; i < blocks; ++i) {
    const philox::Block b = philox::draw(Word64(s.seed), Word64(s.position) + Word64(i));
    out.w0[i] = b.w0;
    out.w1[i] = b.w1;
    out.w2[i] = b.w2;
    out.w3[i] = b.w3;
  }
}

template <int per_block, class T>
struct Batch {
  T at[per_block][kBlocks];
};

// Calls make(words, i, batch) for block i, then lays the results out in order.
template <int per_block, class T, class Make>
INGOT_INLINE void fill(Int64 n, T* out, RandomStream s, Make make) {
  Words words;
  Batch<per_block, T> batch;
  for (Int64 begin = 0; begin < n; begin += per_block * kBlocks) {
    const Int64 count = n - begin < per_block * kBlocks ? n - begin : per_block * kBlocks;
    const Int64 blocks = (count + per_block - 1) / per_block;
    draw_words(words, blocks, s);
    s.position += static_cast<Word64>(blocks);
    for (Int64 i = 0; i < blocks; ++i) make(words, i, batch);
    T* y = out + begin;
    const Int64 whole = count / per_block;
    for (Int64 i = 0; i < whole; ++i) {
      for (int k = 0; k < per_block; ++k) y[i * per_block + k] = batch.at[k][i];
    }
    for (Int64 k = 0; k < count - whole * per_block; ++k) {
      y[whole * per_block + k] = batch.at[k][whole];
    }
  }
}

template <class T, class Map>
INGOT_INLINE void fill_by_word(Int64 n, T* out, RandomStream s, Map map) {
  fill<4>(n, out, s, [map](const Words& w, Int64 i, Batch<4, T>& y) {
    y.at[0][i] = map(w.w0[i]);
    y.at[1][i] = map(w.w1[i]);
    y.at[2][i] = map(w.w2[i]);
    y.at[3][i] = map(w.w3[i]);
  });
}

template <class T, class Map>
INGOT_INLINE void fill_by_pair(Int64 n, T* out, RandomStream s, Map map) {
  fill<2>(n, out, s, [map](const Words& w, Int64 i, Batch<2, T>& y) {
    y.at[0][i] = map(philox::pair(w.w0[i], w.w1[i]));
    y.at[1][i] = map(philox::pair(w.w2[i], w.w3[i]));
  });
}

void uniform_f32(Int64 n, float* out, RandomStream s, float low, float width, float last) {
  fill_by_word(n, out, s, [=](Word w) {
    const float y = low + philox::uniform(w) * width;
    return y > last ? last : y;
  });
}

void uniform_f64(Int64 n, double* out, RandomStream s, double low, double width, double last) {
  fill_by_pair(n, out, s, [=](Word64 w) {
    const double y = low + philox::uniform(w) * width;
    return y > last ? last : y;
  });
}

void normal_f32(Int64 n, float* out, RandomStream s, float mean, float deviation) {
  fill<4>(n, out, s, [=](const Words& w, Int64 i, Batch<4, float>& y) {
    const philox::NormalPair<float> a = philox::normal(w.w0[i], w.w1[i]);
    const philox::NormalPair<float> b = philox::normal(w.w2[i], w.w3[i]);
    y.at[0][i] = mean + deviation * a.first;
    y.at[1][i] = mean + deviation * a.second;
    y.at[2][i] = mean + deviation * b.first;
    y.at[3][i] = mean + deviation * b.second;
  });
}

void normal_f64(Int64 n, double* out, RandomStream s, double mean, double deviation) {
  fill<2>(n, out, s, [=](const Words& w, Int64 i, Batch<2, double>& y) {
    const philox::NormalPair<double> z =
        philox::normal(philox::pair(w.w0[i], w.w1[i]), philox::pair(w.w2[i], w.w3[i]));
    y.at[0][i] = mean + deviation * z.first;
    y.at[1][i] = mean + deviation * z.second;
  });
}

void integers_32(Int64 n, Int64* out, RandomStream s, Int64 low, Word64 range) {
  fill_by_word(n, out, s,
               [=](Word w) { return static_cast<Int64>(Word64(low) + philox::below(w, range)); });
}

void integers_64(Int64 n, Int64* out, RandomStream s, Int64 low, Word64 range) {
  fill_by_pair(n, out, s,
               [=](Word64 w) { return static_cast<Int64>(Word64(low) + philox::below(w, range)); });
}

void keep(Int64 n, Stored<bool>* out, RandomStream s, unsigned threshold) {
  fill_by_word(n, out, s, [=](Word w) { return (w >> 8) >= threshold; });
}

template <class T>
void masked(Int64 n, T* out, const T* x, const Stored<bool>* kept, T scale) {
  for (Int64 i = 0; i < n; ++i) out[i] = kept[i] != 0 ? x[i] * scale : T(0);
}

}  // namespace

const RandomLoops kRandomLoops = {uniform_f32, uniform_f64,   normal_f32,
                                  normal_f64,  integers_32,   integers_64,
                                  keep,        masked<float>, masked<double>};

}  // namespace INGOT_ISA
}  // namespace ingot
