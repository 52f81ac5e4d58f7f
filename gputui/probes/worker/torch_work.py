"""The probes that torch does: matmul, stress, memory bandwidth, copies to and from the host.

Data are standard normal: zeros draw less power and so run at a higher clock (A100 295 instead of 257 TFLOPS). bf16 from
compute capability 8.0, fp16 on 7.x with tensor cores, fp32 elsewhere: emulated types would slander good cards.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from gputui.probes.worker.measure import Rate, drive, quantile, summary

WARM_S = 5.0
GIB = 2**30
SEED = 20261201
CHECKED_ROWS = 64
TOLERANCE = {"bf16": 2e-2, "fp16": 5e-3, "fp32": 1e-4}
"""Of the largest element of a checked row; sums of 8192 products in the type's own precision."""


class TorchDevice:
    """Launches on a CUDA device with events, or on the CPU with the clock (only the tests ask for that)."""

    def __init__(self, name: str) -> None:
        import torch

        self.torch = torch
        self.name = name
        self.cuda = name.startswith("cuda")
        if self.cuda:
            torch.cuda.set_device(0)

    def begin(self) -> list[Any]:
        """Mark the start of a launch."""
        if not self.cuda:
            return [time.perf_counter(), 0.0]
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        return [start, end]

    def end(self, token: list[Any]) -> None:
        """Mark its end."""
        if self.cuda:
            token[1].record()
        else:
            token[1] = time.perf_counter()

    def wait(self, token: list[Any]) -> float:
        """Seconds it took on the device."""
        if not self.cuda:
            return float(token[1] - token[0])
        token[1].synchronize()
        return float(token[0].elapsed_time(token[1])) / 1000.0

    def capability(self) -> tuple[int, int]:
        """Compute capability; (8, 0) on the CPU, which has bf16 too."""
        return tuple(self.torch.cuda.get_device_capability(0)) if self.cuda else (8, 0)

    def precision(self) -> str:
        """The type this card multiplies best and truly."""
        capability = self.capability()
        if capability >= (8, 0):
            return "bf16"
        name = self.torch.cuda.get_device_name(0)
        return "fp16" if capability >= (7, 0) and "GTX 16" not in name else "fp32"

    def free_bytes(self) -> int:
        """Bytes free on the device."""
        return int(self.torch.cuda.mem_get_info(0)[0]) if self.cuda else 1 * GIB

    def own_mib(self) -> float:
        """MiB that torch holds on the card; its context is beside it and does not grow."""
        return float(self.torch.cuda.memory_reserved(0)) / 2**20 if self.cuda else 0.0


class Torch:
    """The work of one probe. say: a message. stopped: whether to end. request: see `main`."""

    def __init__(self, device: TorchDevice, request: dict[str, Any], say: Callable[..., None], context: Any) -> None:
        self.device, self.request, self.say, self.context = device, request, say, context
        self.torch = device.torch
        self.seconds = float(request["seconds"])
        self.warm_s = min(WARM_S, float(request.get("warm_s", WARM_S)))

    def run(self, probe: str) -> dict[str, Any]:
        """The result's fields. Raises what torch raises."""
        work = {"matmul": self.matmul, "stress": self.stress, "bandwidth": self.bandwidth, "pcie": self.host_copy}
        return work[probe]()

    def matmul(self) -> dict[str, Any]:
        """Median TFLOPS of large matrix products, with one look at whether they are right."""
        return self._multiply(check_every_s=None)

    def stress(self) -> dict[str, Any]:
        """The same for long; every five seconds a product must be what the first one was, bit for bit."""
        return self._multiply(check_every_s=5.0)

    def _multiply(self, check_every_s: float | None) -> dict[str, Any]:
        torch, precision = self.torch, self.device.precision()
        kind = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[precision]
        size = self._size(2 if precision != "fp32" else 4)
        torch.manual_seed(SEED)
        left, right = (torch.randn(size, size, device=self.device.name).to(kind) for _ in range(2))
        out = torch.empty(size, size, device=self.device.name, dtype=kind)

        def work() -> None:
            torch.mm(left, right, out=out)

        work()
        wrong = self._wrong_rows(left, right, out, TOLERANCE[precision])
        first = self._repeatable(work, out) if check_every_s is not None else None
        rate = Rate(2.0 * size**3 / 1e12)
        began = self._timed(work, rate, "TFLOPS", first, out, check_every_s)
        found = summary(rate, began)
        errors, repeated = self._errors if first is not None else (0, False)
        if wrong:
            errors, repeated = errors + wrong, self._wrong_rows(left, right, out, TOLERANCE[precision]) > 0
        detail: dict[str, Any] = dict(found, errors=errors, errors_repeated=repeated, data="randn", seed=SEED)
        if check_every_s is not None:
            detail["bitwise"] = first is not None
        detail.update(self.context.seen(began))
        return {
            "value": found["median"],
            "unit": "TFLOPS",
            "dtype": precision,
            "shape": [size, size, size],
            "detail": detail,
            "series": [round(value, 3) for value in rate.per_second()],
        }

    def _timed(
        self, work: Callable[[], None], rate: Rate, unit: str, first: Any, out: Any, check_every_s: float | None
    ) -> float:
        """Warm up by time, then measure. Returns the monotonic time at which the measurement began."""
        self.say("phase", name="warm-up", share=0.0, left_s=self.warm_s + self.seconds)
        drive(self.device, work, self.warm_s, self.context.stopped, lambda *_times: None)
        self.context.settled()
        began = time.monotonic()
        told = [began]
        self._errors: tuple[int, bool] = (0, False)
        checked = [began]

        def done(at: float, took: float) -> None:
            rate.add(at, took)
            if at - told[0] >= 1.0:
                now = quantile(rate.values(told[0]), 0.5)
                told[0] = at
                share = min(1.0, (at - began) / self.seconds)
                self.say("phase", name="measure", share=round(share, 3), left_s=max(0.0, self.seconds - (at - began)))
                values = {unit: round(now, 3)}
                values.update(self.context.now())
                self.say("live", values=values)
            if first is not None and check_every_s is not None and at - checked[0] >= check_every_s:
                checked[0] = at
                self._compare(work, first, out)

        drive(self.device, work, self.seconds, self.context.stopped, done)
        return began

    def _repeatable(self, work: Callable[[], None], out: Any) -> Any:
        """The product to compare later ones with bit for bit; None where the library itself does not repeat its bits,
        as with sums split over blocks that finish in any order: then a difference proves nothing.
        """
        first = out.clone()
        for _ in range(3):
            work()
            if not bool((out == first).all().item()):
                return None
        return first

    def _compare(self, work: Callable[[], None], first: Any, out: Any) -> None:
        """Bits that differ from the first product; what differs once more in a second try is repeated."""
        different = int((out != first).sum().item())
        if different:
            work()
            again = int((out != first).sum().item())
            self._errors = (self._errors[0] + different, self._errors[1] or again > 0)

    def _wrong_rows(self, left: Any, right: Any, out: Any, tolerance: float) -> int:
        """Of some rows, how many are not what fp32 says. NaN counts as wrong."""
        torch = self.torch
        rows = torch.randperm(left.shape[0])[:CHECKED_ROWS].to(left.device)
        expected = left[rows].float() @ right.float()
        worst = (out[rows].float() - expected).abs().amax(dim=1) / expected.abs().amax(dim=1)
        return int((~(worst <= tolerance)).sum().item())

    def _size(self, element: int) -> int:
        """8192, or 4096 where that needs more than a quarter of what is free; small on a CPU."""
        if not self.device.cuda:
            return 256
        return 8192 if self.device.free_bytes() // 4 > (3 * element + 8) * 8192**2 else 4096

    def bandwidth(self) -> dict[str, Any]:
        """GB/s of a copy within the card's memory, read and written bytes together; far larger than any cache."""
        torch = self.torch
        size = min(2 * GIB, self.device.free_bytes() // 8) if self.device.cuda else 16 * 2**20
        left = torch.randn(size // 4, device=self.device.name)
        right = torch.empty_like(left)
        rate = Rate(2.0 * size / 1e9)
        began = self._timed(lambda: right.copy_(left), rate, "GB/s", None, None, None)
        found = summary(rate, began)
        detail: dict[str, Any] = dict(found, bytes=size)
        detail.update(self.context.seen(began))
        return {
            "value": found["median"],
            "unit": "GB/s",
            "dtype": "copy",
            "shape": [size],
            "detail": detail,
            "series": [round(value, 2) for value in rate.per_second()],
        }

    def host_copy(self) -> dict[str, Any]:
        """GB/s to the card and back with pinned memory, and the link as it was under this load."""
        torch = self.torch
        size = 256 * 2**20 if self.device.cuda else 8 * 2**20
        host = torch.empty(size, dtype=torch.uint8, pin_memory=self.device.cuda)
        card = torch.empty(size, dtype=torch.uint8, device=self.device.name)
        found = {}
        series: list[float] = []
        half = self.seconds / 2
        began = time.monotonic()
        for name, target, source in (("to_card", card, host), ("from_card", host, card)):
            rate = Rate(size / 1e9)
            self.seconds = half
            self._timed(lambda t=target, s=source: t.copy_(s, non_blocking=True), rate, "GB/s", None, None, None)  # type: ignore[misc]
            self.warm_s = min(self.warm_s, 1.0)
            if not rate.times:
                break
            found[name] = round(quantile(rate.values(), 0.5), 3)
            series += [round(value, 2) for value in rate.per_second()]
        detail: dict[str, Any] = dict(found, bytes=size)
        detail.update(self.context.seen(began))
        return {
            "value": found.get("to_card"),
            "unit": "GB/s",
            "dtype": "",
            "shape": [size],
            "detail": detail,
            "series": series,
        }
