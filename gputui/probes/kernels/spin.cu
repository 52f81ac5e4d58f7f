// A kernel of a known duration that does nothing: what it takes beyond that is launch, queue and theft. It ends by the
// wall clock and so swallows a theft that falls inside it: keep it shorter than a time slice, and use `clock_meter` for
// long ones. With 0 ns it is the empty kernel of the launch latency.
#include "timers.cuh"

// waited[blocks]: ns each block saw pass.
extern "C" __global__ void spin(u64 duration, u64 *waited) {
  u64 elapsed = linger(duration);
  if (threadIdx.x == 0) waited[blockIdx.x] = elapsed;
}
