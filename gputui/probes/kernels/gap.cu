// Does somebody else get time on this card? One thread looks at the clock without pause. While another context has the
// card the thread stands still and the clock does not, so the theft shows as a jump between two looks.
#include "timers.cuh"

// totals[6]: gaps, stolen ns, elapsed ns, turns, shortest step ns (0: the timer never moved), longest gap ns.
// gaps[2 * cap]: start after the kernel's start ns, length ns. Gaps past the cap are counted and not kept.
extern "C" __global__ void gap(u64 duration, u64 threshold, u64 cap, u64 *totals, u64 *gaps) {
  if (threadIdx.x != 0 || blockIdx.x != 0) return;
  u64 count = 0, stolen = 0, longest = 0, turns = 0;
  u64 shortest = ~0ull;
  u64 start = nanoseconds();
  u64 last = start;
  // The second limit ends the kernel where the timer stands still: a turn takes more than one nanosecond.
  while (last - start < duration && turns < duration) {
    u64 now = nanoseconds();
    // A timer that steps back must not look like a gap of centuries.
    u64 step = now > last ? now - last : 0;
    if (step != 0 && step < shortest) shortest = step;
    if (step > threshold) {
      if (count < cap) {
        gaps[2 * count] = last - start;
        gaps[2 * count + 1] = step;
      }
      count++;
      stolen += step;
      if (step > longest) longest = step;
    }
    last += step;
    turns++;
  }
  totals[0] = count;
  totals[1] = stolen;
  totals[2] = last - start;
  totals[3] = turns;
  totals[4] = shortest == ~0ull ? 0 : shortest;
  totals[5] = longest;
}
