// The timers of a card, read in program order: volatile keeps the compiler from moving or merging the reads.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;

// Wall time in nanoseconds. It runs on while another context has the card, which is what makes theft visible.
static __device__ __forceinline__ u64 nanoseconds(void) {
  u64 value;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value)::"memory");
  return value;
}

// Ticks of the clock this SM runs on.
static __device__ __forceinline__ u64 cycles(void) {
  u64 value;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(value)::"memory");
  return value;
}

// The number of the SM the thread runs on.
static __device__ __forceinline__ u32 sm(void) {
  u32 value;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(value));
  return value;
}

// Let time pass. A turn takes more than one nanosecond, so as many turns as nanoseconds mean a timer that stands still:
// without that second limit the kernel would never end. Returns the time passed.
static __device__ __forceinline__ u64 linger(u64 duration) {
  u64 start = nanoseconds();
  u64 elapsed = 0;
  for (u64 turn = 0; elapsed < duration && turn < duration; turn++) elapsed = nanoseconds() - start;
  return elapsed;
}
