"""MIG devices of a card: which there are now, and their memory."""

from __future__ import annotations

from dataclasses import replace

from gputui.driver.nvml import api as nvml
from gputui.driver.nvml import convert
from gputui.driver.nvml.api import Call
from gputui.driver.nvml.asker import Asker
from gputui.driver.nvml.table import ATTRIBUTES
from gputui.model.card import MigDevice
from gputui.model.reading import Absent, Reading

_MAXIMUM = Call("nvmlDeviceGetMaxMigDeviceCount")
_UUID = Call("nvmlDeviceGetUUID", "text:96")
_NAME = Call("nvmlDeviceGetName", "text:96")
_GPU_INSTANCE = Call("nvmlDeviceGetGpuInstanceId")
_COMPUTE_INSTANCE = Call("nvmlDeviceGetComputeInstanceId")
_MEMORY = (Call("nvmlDeviceGetMemoryInfo_v2", "memory-v2"), Call("nvmlDeviceGetMemoryInfo", "memory-v1"))
_NATURE = convert.Nature()


class MigDevices:
    """The MIG devices of one card, listed anew each time: the layout may change while we run (nvitop builds its list
    once and shows rows that are gone).
    """

    def __init__(self) -> None:
        self._known: dict[str, MigDevice] = {}

    def read(self, asker: Asker) -> tuple[MigDevice, ...]:
        """All of them now. A device that goes away while it is read is left out."""
        code, values = asker.get(_MAXIMUM)
        found: list[MigDevice] = []
        for index in range(int(values[0] or 0) if code == nvml.SUCCESS else 0):
            code, handle = asker.api.mig_handle(asker.handle, index, asker.uuid)
            if code != nvml.SUCCESS:
                continue
            device = self._one(Asker(asker.api, handle, asker.uuid), index)
            if device is not None:
                found.append(device)
        self._known = {device.uuid: device for device in found}
        return tuple(found)

    def _one(self, asker: Asker, index: int) -> MigDevice | None:
        code, values = asker.get(_UUID)
        if code != nvml.SUCCESS or not values[0]:
            return None
        uuid = str(values[0])
        device = self._known.get(uuid) or self._new(asker, index, uuid)
        total, used = self._memory(asker)
        return replace(device, index=index, memory_total_mib=total, memory_used_mib=used)

    @staticmethod
    def _new(asker: Asker, index: int, uuid: str) -> MigDevice:
        code, values = asker.get(ATTRIBUTES)
        multiprocessors: Reading
        if code == nvml.SUCCESS:
            multiprocessors = convert.number(values[0])
        else:
            multiprocessors = convert.absent("multiprocessor_count", code, _NATURE)
        return MigDevice(
            index=index,
            uuid=uuid,
            name=_text(asker, _NAME) or "MIG",
            gpu_instance=_int(asker, _GPU_INSTANCE),
            compute_instance=_int(asker, _COMPUTE_INSTANCE),
            multiprocessors=multiprocessors,
        )

    @staticmethod
    def _memory(asker: Asker) -> tuple[Reading, Reading]:
        code = nvml.NOT_SUPPORTED
        for call in _MEMORY:
            code, values = asker.get(call)
            if code == nvml.SUCCESS:
                return convert.mib(values[0]), convert.mib(values[2])
        missing: Absent = convert.absent("memory.total", code, _NATURE)
        return missing, missing


def _int(asker: Asker, call: Call) -> int | None:
    code, values = asker.get(call)
    return values[0] if code == nvml.SUCCESS and isinstance(values[0], int) else None


def _text(asker: Asker, call: Call) -> str | None:
    code, values = asker.get(call)
    return str(values[0]) if code == nvml.SUCCESS and values[0] else None
