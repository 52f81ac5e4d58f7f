// How many SMs can this process reach? A slice sold as a whole card reaches fewer than the model has.
#include "timers.cuh"

// blocks[cap]: how many blocks ran on the SM of that number; the host zeroes it. Numbers may have holes.
// limits[2]: how many numbers there may be (%nsmid), blocks on an SM whose number did not fit; the host zeroes it.
extern "C" __global__ void coverage(u64 duration, u32 cap, u32 *blocks, u32 *limits) {
  // Each block stays a while: otherwise the first SMs would finish theirs and take those meant for the others.
  linger(duration);
  if (threadIdx.x != 0) return;
  u32 number = sm();
  if (number < cap)
    atomicAdd(&blocks[number], 1u);
  else
    atomicAdd(&limits[1], 1u);
  u32 most;
  asm("mov.u32 %0, %%nsmid;" : "=r"(most));
  limits[0] = most;
}
