"""A probe's process. Its first line of input is the request, a JSON object; then the parent says "beat" or "stop".

    probe      "matmul", "stress", "bandwidth", "pcie"
    uuid, bus_id   of the card, or of the MIG device; CUDA_VISIBLE_DEVICES names the same one
    seconds    of measurement; warm_s before it; deadline_s for everything
    stop_c     degrees at which to stop, or null
    parent     its pid
    device     "cuda", or "cpu" in the tests

Libraries print where they like, so descriptors 1 and 2 become one pipe of noise and messages have their own.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from typing import Any

from gputui.probes.worker import identity
from gputui.probes.worker.card import Limits, Reader, Watch
from gputui.probes.worker.guard import Guard
from gputui.probes.worker.wire import Speaker


class Context:
    """What the work asks of its surroundings."""

    def __init__(self, guard: Guard, watch: Watch | None) -> None:
        self._guard, self._watch = guard, watch

    def stopped(self) -> bool:
        """Whether to end at this launch."""
        return self._guard.stop_asked.is_set()

    def settled(self) -> None:
        """Everything is allocated."""
        if self._watch is not None:
            self._watch.settle()

    def now(self) -> dict[str, float]:
        """The newest reading of the card."""
        return dict(self._watch.series[-1][1]) if self._watch is not None and self._watch.series else {}

    def seen(self, since: float) -> dict[str, Any]:
        """Means over the measurement: what the result stood on."""
        if self._watch is None:
            return {}
        readings = self._watch.between(since, time.monotonic())
        out: dict[str, Any] = {}
        for name in ("temperature_c", "power_w", "sm_mhz"):
            values = [seen[name] for seen in readings if name in seen]
            if values:
                out["mean_" + name] = round(sum(values) / len(values), 1)
        masks = [int(seen["reasons"]) for seen in readings if "reasons" in seen]
        for name, bits in (("power", 0x4), ("heat", 0x60), ("brake", 0x80), ("locked", 0x2)):
            if masks:
                out["share_" + name] = round(sum(1 for mask in masks if mask & bits) / len(masks), 3)
        for name in ("generation", "lanes"):
            values = [seen[name] for seen in readings if name in seen]
            if values:
                out[name] = int(max(values))
        return out


def main() -> None:
    """Run one probe and end."""
    messages = os.dup(1)
    os.dup2(2, 1)
    speaker = Speaker(messages)
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(0, 1)
        if not piece:
            os._exit(0)
        line += piece
    request = json.loads(line)
    guard = Guard(int(request["parent"]), float(request["deadline_s"]), speaker.say)
    guard.start(0)
    try:
        _work(request, guard, speaker)
    except Exception as error:  # whatever breaks is a result of the probe, in one line
        reason, detail = _named(error)
        speaker.say("failed", reason=guard.why if guard.stop_asked.is_set() else reason, detail=detail)
        os._exit(1)
    sys.stderr.flush()
    os._exit(0)


def _work(request: dict[str, Any], guard: Guard, speaker: Speaker) -> None:
    speaker.say("hello", pid=os.getpid(), python=platform.python_version(), engine="torch", engine_version="")
    on_card = request.get("device", "cuda") == "cuda"
    if on_card:
        seen = identity.visible_card()
        speaker.say("card", uuid=seen["uuid"], bus_id=seen["bus_id"], name="")
        if not identity.same_card(str(request["uuid"]), str(request.get("bus_id", "")), seen):
            speaker.say("failed", reason="wrong-card", detail="CUDA gives {uuid} {bus_id}".format(**seen))
            return
    from gputui.probes.worker.torch_work import Torch, TorchDevice

    device = TorchDevice("cuda:0" if on_card else "cpu")
    speaker.say(
        "hello",
        pid=os.getpid(),
        python=platform.python_version(),
        engine="torch",
        engine_version=str(device.torch.__version__),
    )
    guard.begin()
    watch = None
    if on_card:
        reader = Reader(str(request["uuid"]))
        watch = Watch(reader.read, Limits(request.get("stop_c")), guard.ask, device.own_mib)
        watch.start()
    work = Torch(device, request, speaker.say, Context(guard, watch))
    result = work.run(str(request["probe"]))
    if guard.stop_asked.is_set():
        speaker.say("failed", reason=guard.why, detail="", partial=result)
    else:
        speaker.say("result", state="done", **result)


def _named(error: Exception) -> tuple[str, str]:
    text = str(error).strip().splitlines()
    detail = (text[0] if text else type(error).__name__)[:300]
    if isinstance(error, ImportError):
        return "no-engine", detail
    if isinstance(error, identity.NoCuda):
        return "cuda-error", detail
    if "out of memory" in str(error).lower() or isinstance(error, MemoryError):
        return "out-of-memory", detail
    if isinstance(error, (RuntimeError, OSError)):
        return "cuda-error", detail
    return "mistake", f"{type(error).__name__}: {detail}"
