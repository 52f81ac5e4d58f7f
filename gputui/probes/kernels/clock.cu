// How fast does an SM really run? Two clocks are read around the same work: cycles / ns = GHz, whatever NVML says.
// The work is fixed, so one block per SM is also the piece of work whose duration betrays a card that is shared.
#include "timers.cuh"

// Each thread does 64 * turns FMAs, each waiting for the one before. A scale below 1 keeps the values finite.
// meter[3 * blocks]: cycles, ns, SM number of each block. ends[threads]: the last value of every chain.
extern "C" __global__ void __launch_bounds__(1024)
    clock_meter(u32 turns, float scale, float shift, u64 *meter, float *ends) {
  float value = (float)threadIdx.x;
  __syncthreads();
  u64 ns = nanoseconds();
  u64 ticks = cycles();
  for (u32 turn = 0; turn < turns; turn++) {
#pragma unroll
    for (int i = 0; i < 64; i++) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(value) : "f"(scale), "f"(shift));
  }
  // All chains of the block are in before the second reading.
  __syncthreads();
  ns = nanoseconds() - ns;
  ticks = cycles() - ticks;
  ends[(u64)blockIdx.x * blockDim.x + threadIdx.x] = value;
  if (threadIdx.x != 0) return;
  meter[3 * blockIdx.x] = ticks;
  meter[3 * blockIdx.x + 1] = ns;
  meter[3 * blockIdx.x + 2] = sm();
}
