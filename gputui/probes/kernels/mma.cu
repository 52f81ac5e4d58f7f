// What do the tensor cores do, without memory in the way? Everything stays in registers. The operands are random
// numbers from memory because zeros draw less power and run faster than real work. Not to be compared with a matmul.
#include "timers.cuh"

#define ROWS 4     // A fragments, 4 registers each
#define COLUMNS 2  // B fragments, 2 registers each

// A warp does 8 * turns instructions m16n8k16 in 8 independent chains: 2 * 16 * 8 * 16 = 4096 operations each.
// feed[20 * threads per block]: pairs of finite bf16. ends[32 * threads]: the accumulators. All blocks are fed alike,
// so blocks that differ in a single bit have computed wrong; past 2^22 turns a sum hardly takes in what is added to it.
// meter[3 * blocks]: cycles, ns, SM number of each block.
extern "C" __global__ void __launch_bounds__(256) mma(u32 turns, const u32 *feed, float *ends, u64 *meter) {
  u32 a[ROWS][4], b[COLUMNS][2];
  float sum[ROWS][COLUMNS][4];
#pragma unroll
  for (int r = 0; r < ROWS; r++)
#pragma unroll
    for (int i = 0; i < 4; i++) a[r][i] = feed[(r * 4 + i) * blockDim.x + threadIdx.x];
#pragma unroll
  for (int c = 0; c < COLUMNS; c++)
#pragma unroll
    for (int i = 0; i < 2; i++) b[c][i] = feed[(ROWS * 4 + c * 2 + i) * blockDim.x + threadIdx.x];
#pragma unroll
  for (int i = 0; i < ROWS * COLUMNS * 4; i++) sum[i / (COLUMNS * 4)][i / 4 % COLUMNS][i % 4] = 0.0f;
  __syncthreads();
  u64 ns = nanoseconds();
  u64 ticks = cycles();
  for (u32 turn = 0; turn < turns; turn++) {
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
      for (int c = 0; c < COLUMNS; c++)
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(sum[r][c][0]), "+f"(sum[r][c][1]), "+f"(sum[r][c][2]), "+f"(sum[r][c][3])
            : "r"(a[r][0]), "r"(a[r][1]), "r"(a[r][2]), "r"(a[r][3]), "r"(b[c][0]), "r"(b[c][1]));
  }
  __syncthreads();
  ns = nanoseconds() - ns;
  ticks = cycles() - ticks;
  u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int i = 0; i < ROWS * COLUMNS * 4; i++) ends[thread * 32 + i] = sum[i / (COLUMNS * 4)][i / 4 % COLUMNS][i % 4];
  if (threadIdx.x != 0) return;
  meter[3 * blockIdx.x] = ticks;
  meter[3 * blockIdx.x + 1] = ns;
  meter[3 * blockIdx.x + 2] = sm();
}
