// How fast is the card's memory, and does it keep what is written? Everything moves in vectors of 16 bytes, four in
// flight per thread, and past the caches where the instruction set allows: a buffer must be much larger than the L2.
#include "timers.cuh"

#define FIRST ((u64)blockIdx.x * blockDim.x + threadIdx.x)
#define STRIDE ((u64)gridDim.x * blockDim.x)

// Moves 2 * 16 * vectors bytes.
extern "C" __global__ void __launch_bounds__(512) copy(uint4 *to, const uint4 *from, u64 vectors) {
  u64 at = FIRST, stride = STRIDE;
  for (; at + 3 * stride < vectors; at += 4 * stride) {
    uint4 a = __ldcs(from + at), b = __ldcs(from + at + stride);
    uint4 c = __ldcs(from + at + 2 * stride), d = __ldcs(from + at + 3 * stride);
    __stcs(to + at, a);
    __stcs(to + at + stride, b);
    __stcs(to + at + 2 * stride, c);
    __stcs(to + at + 3 * stride, d);
  }
  for (; at < vectors; at += stride) __stcs(to + at, __ldcs(from + at));
}

static __device__ __forceinline__ u64 total(uint4 v) { return (u64)v.x + v.y + v.z + v.w; }

// Moves 16 * vectors bytes. sums[blocks]: sum of the 32-bit words a block read, modulo 2^64; the sum of all blocks is
// known to the host, so a read that was left out cannot pass for a fast one.
extern "C" __global__ void __launch_bounds__(512) read(const uint4 *from, u64 vectors, u64 *sums) {
  __shared__ u64 sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  u64 at = FIRST, stride = STRIDE, mine = 0;
  for (; at + 3 * stride < vectors; at += 4 * stride) {
    uint4 a = __ldcs(from + at), b = __ldcs(from + at + stride);
    uint4 c = __ldcs(from + at + 2 * stride), d = __ldcs(from + at + 3 * stride);
    mine += total(a) + total(b) + total(c) + total(d);
  }
  for (; at < vectors; at += stride) mine += total(__ldcs(from + at));
  atomicAdd(&sum, mine);
  __syncthreads();
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// The word that belongs at a place. Kinds 0, 2, 4; the odd kind after each is its complement.
//   0: a hash of the place. Two addresses that reach the same cell, or a swapped line, cannot both be right.
//   2: the seed itself everywhere, for moving inversions.
//   4: one bit, walking with the place, for a line that is stuck or tied to its neighbour.
static __device__ __forceinline__ u32 word(u32 kind, u32 seed, u64 place) {
  u32 low = (u32)place, high = (u32)(place >> 32);
  u32 value;
  if (kind < 2) {
    value = low ^ (seed + high * 0x9e3779b9u);
    value *= 0x85ebca6bu;
    value ^= value >> 15;
    value *= 0xc2b2ae35u;
    value ^= value >> 13;
  } else if (kind < 4) {
    value = seed;
  } else {
    value = 1u << ((low + seed) & 31u);
  }
  return (kind & 1u) ? ~value : value;
}

// first: the place of the buffer's first word, so that several buffers together hold one pattern without a repeat.
extern "C" __global__ void __launch_bounds__(512) fill_pattern(uint4 *to, u64 vectors, u64 first, u32 kind, u32 seed) {
  for (u64 at = FIRST; at < vectors; at += STRIDE) {
    u64 place = first + 4 * at;
    uint4 v;
    v.x = word(kind, seed, place);
    v.y = word(kind, seed, place + 1);
    v.z = word(kind, seed, place + 2);
    v.w = word(kind, seed, place + 3);
    __stcs(to + at, v);
  }
}

// found[3], zeroed by the host: wrong 32-bit words, wrong words reported (may exceed the cap), bits that ever differed.
// wrong[3 * cap]: place of the word, expected, seen. The first to be met, which are not those with the lowest places.
extern "C" __global__ void __launch_bounds__(512)
    check_pattern(const uint4 *from, u64 vectors, u64 first, u32 kind, u32 seed, u32 cap, u64 *found, u64 *wrong) {
  u64 count = 0, bits = 0;
  bool room = true;
  for (u64 at = FIRST; at < vectors; at += STRIDE) {
    uint4 v = __ldcs(from + at);
    u32 seen[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
      u64 place = first + 4 * at + i;
      u32 expected = word(kind, seed, place);
      if (seen[i] == expected) continue;
      count++;
      bits |= seen[i] ^ expected;
      // A thread that met a full list asks no more: on a card full of errors the one counter would take minutes.
      if (!room) continue;
      u64 slot = atomicAdd(&found[1], 1ull);
      room = slot < cap;
      if (!room) continue;
      wrong[3 * slot] = place;
      wrong[3 * slot + 1] = expected;
      wrong[3 * slot + 2] = seen[i];
    }
  }
  if (count == 0) return;
  atomicAdd(&found[0], count);
  atomicOr(&found[2], bits);
}
