"""A scriptable stand-in for the loaded library, in this process: what gputui.driver.nvml.api calls, with the same
pointers. The C stand-in in tests/fake_driver tests the binary side; this one makes every answer of every call cheap.

An H100 as in the captures, unless a test changes it. `codes` maps a function, or (function, card index), to what it
returns; `missing` are symbols this library does not have; `calls` counts.
"""

from __future__ import annotations

import ctypes
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

MIB = 2**20
BASE = 0x1000
D = "nvmlDeviceGet"

Values = dict[Any, Any]


def h100(index: int) -> Values:
    """Answers of one card: by function, or by function and its arguments. Fields: id to (type, value)."""
    return {
        D + "UUID": f"GPU-0000000{index}",
        D + "Name": "NVIDIA H100 80GB HBM3",
        D + "Serial": "1650000000000",
        D + "Brand": 14,
        D + "Architecture": 9,
        D + "NumGpuCores": 16896,
        D + "MemoryBusWidth": 5120,
        D + "MinorNumber": index,
        D + "BoardPartNumber": "692-2G520-0200-000",
        D + "VbiosVersion": "96.00.A5.00.01",
        D + "InforomImageVersion": "G520.0200.00.05",
        D + "GspFirmwareVersion": "590.48.01",
        D + "PciInfo_v3": {
            "busId": f"00000000:0{index}:00.0".encode(),
            "pciDeviceId": 0x233010DE,
            "pciSubSystemId": 0x16C110DE,
        },
        D + "VirtualizationMode": 1,
        D + "DriverModel_v2": None,
        D + "DriverModel": None,
        (D + "AddressingMode",): {"value": 0},
        (D + "ClockInfo", 0): 1980,
        (D + "ClockInfo", 1): 1980,
        (D + "ClockInfo", 2): 2619,
        (D + "ClockInfo", 3): 1545,
        **{(D + "MaxClockInfo", kind): value for kind, value in enumerate((1980, 1980, 2619, 1545))},
        (D + "MaxCustomerBoostClock", 0): 1980,
        D + "PerformanceState": 0,
        D + "CurrentClocksEventReasons": 0,
        D + "SupportedClocksEventReasons": 0x1FF,
        D + "PowerUsage": 629_450,
        D + "EnforcedPowerLimit": 700_000,
        D + "PowerManagementLimit": 700_000,
        D + "PowerManagementDefaultLimit": 700_000,
        D + "PowerManagementLimitConstraints": (200_000, 700_000),
        D + "PowerManagementMode": 1,
        D + "TotalEnergyConsumption": 1_000_000,
        (D + "Temperature", 0): 59,
        D + "MarginTemperature": {"value": 26},
        D + "NumFans": 0,
        D + "UtilizationRates": {"gpu": 100, "memory": 11},
        D + "EncoderUtilization": (0, 167_000),
        D + "DecoderUtilization": (0, 167_000),
        D + "JpgUtilization": (0, 167_000),
        D + "OfaUtilization": (0, 167_000),
        D + "MemoryInfo_v2": {"total": 81559 * MIB, "reserved": 479 * MIB, "used": 19818 * MIB, "free": 61262 * MIB},
        D + "MemoryInfo": {"total": 81559 * MIB, "used": 20297 * MIB, "free": 61262 * MIB},
        D + "BAR1MemoryInfo": {"bar1Total": 131072 * MIB, "bar1Used": 19819 * MIB, "bar1Free": 111253 * MIB},
        D + "CurrPcieLinkGeneration": 5,
        D + "MaxPcieLinkGeneration": 5,
        D + "GpuMaxPcieLinkGeneration": 5,
        D + "CurrPcieLinkWidth": 16,
        D + "MaxPcieLinkWidth": 16,
        (D + "PcieThroughput", 0): 3092,
        (D + "PcieThroughput", 1): 6346,
        D + "PersistenceMode": 1,
        D + "ComputeMode": 0,
        D + "MigMode": (0, 0),
        D + "DisplayActive": 0,
        D + "CudaComputeCapability": (9, 0),
        D + "GpuFabricInfoV": {"state": 3, "status": 0},
        D + "ComputeRunningProcesses_v3": [(11327, 2566 * MIB), (11328, 1542 * MIB)],
        D + "GraphicsRunningProcesses_v3": [],
        D + "MPSComputeRunningProcesses_v3": [],
        D + "ProcessUtilization": [],
        # Other ways to the same readings, as a driver of today has them beside the first.
        D + "CurrentClocksThrottleReasons": 0,
        D + "SupportedClocksThrottleReasons": 0x1FF,
        D + "PowerState": 0,
        D + "TemperatureV": {"value": 59},
        D + "EccMode": (1, 1),
        **{(D + "TotalEccErrors", error, counter): 0 for error in (0, 1) for counter in (0, 1)},
        D + "RemappedRows": (0, 0, 0, 0),
        D + "PcieReplayCounter": 9,
        D + "NvLinkState": 1,
        D + "NvLinkVersion": 6,
        D + "ViolationStatus": {"violationTime": 0, "referenceTime": 0},
        D + "RetiredPages": None,
        D + "RetiredPagesPendingStatus": None,
        D + "SupportedEventTypes": 0x1FF,
        "fields": {
            185: (1, 629_450),
            186: (1, 588_390),
            187: (1, 200_000),
            188: (1, 700_000),
            189: (1, 700_000),
            190: (1, 700_000),
            192: (1, 700_000),
            82: (1, 55),
            83: (3, 1_000_000),
            91: (1, 18),
            94: (1, 9),
            166: (1, 6),
            193: (5, -8),
            194: (5, -2),
            195: (5, 0),
            196: (5, 0),
            230: (1, 0),
            **dict.fromkeys((1, 2), (1, 1)),
            **dict.fromkeys((3, 4, 5, 6), (3, 0)),
            **dict.fromkeys((142, 143, 144, 145), (1, 0)),
            **dict.fromkeys((74, 75, 76, 77, 79, 269, 270, 271), (3, 0)),
            **{(165, link): (1, 1) for link in range(18)},
        },
    }


_TYPES = {1: "uiVal", 3: "ullVal", 5: "siVal"}


class Library:
    """Stands where ctypes.CDLL would. `cards` may be changed at any time."""

    def __init__(self, cards: int = 1) -> None:
        self.cards = [h100(index) for index in range(cards)]
        self.codes: dict[Any, int] = {}
        self.missing: set[str] = set()
        self.calls: Counter[str] = Counter()
        self.by_card: Counter[int] = Counter()
        self.events: list[tuple[int, int, int] | int] = []
        self.mig: dict[int, dict[int, Values]] = {}
        self._special: dict[str, Callable[..., int]] = {
            "nvmlInit_v2": lambda: 0,
            "nvmlShutdown": lambda: 0,
            "nvmlSystemGetDriverVersion": lambda out, size: _put(out, "590.48.01"),
            "nvmlSystemGetNVMLVersion": lambda out, size: _put(out, "13.590.48.01"),
            "nvmlSystemGetCudaDriverVersion_v2": lambda out: _put(out, 13010),
            "nvmlDeviceGetCount_v2": lambda out: _put(out, len(self.cards)),
            "nvmlDeviceGetHandleByIndex_v2": self._handle,
            "nvmlDeviceGetFieldValues": self._fields,
            "nvmlEventSetCreate": lambda out: _put(out, 0x77),
            "nvmlEventSetFree": lambda found: 0,
            "nvmlDeviceRegisterEvents": lambda handle, types, found: 0,
            "nvmlEventSetWait_v2": self._wait,
            "nvmlDeviceGetMigDeviceHandleByIndex": self._mig_handle,
            "nvmlDeviceGetProcessUtilization": self._utilization,
        }

    def card(self, index: int = 0) -> Values:
        return self.cards[index]

    def __getattr__(self, name: str) -> Callable[..., int]:
        if name.startswith("_") or name in self.missing:
            raise AttributeError(name)
        known = name in self._special or any(
            name in answers or any(isinstance(key, tuple) and key[0] == name for key in answers)
            for answers in self.cards
        )
        if not known and name not in self.codes:
            raise AttributeError(name)

        def call(*args: Any) -> int:
            self.calls[name] += 1
            index = self._index(args[0]) if args else None
            if index is not None and not name.startswith("nvmlDeviceGetHandle"):
                self.by_card[index] += 1
            code = self.codes.get(
                (name, index), self.codes.get((name, None, *_numbers(args[1:])), self.codes.get(name))
            )
            if code is None and index is not None:
                code = self.codes.get(("*", index))
            if code:
                return code
            if name in self._special:
                return self._special[name](*args)
            return self._generic(name, args)

        return call

    def _index(self, handle: Any) -> int | None:
        value = handle.value if isinstance(handle, ctypes.c_void_p) else None
        if value is None or not BASE <= value < BASE + 0x800:
            return None
        return value - BASE

    def _answers(self, handle: Any) -> Values:
        value = handle.value
        if value >= 0x10000:
            return self.mig[(value - 0x10000) // 16][(value - 0x10000) % 16]
        return self.cards[value - BASE]

    def _generic(self, name: str, args: tuple[Any, ...]) -> int:
        answers = self._answers(args[0])
        numbers = _numbers(args[1:])
        key = (name, *numbers)
        value = answers.get(key, answers.get(name, answers.get((name,))))
        if value is None:
            return 3
        if isinstance(value, list):
            return _list(value, args[-2], args[-1])
        version = getattr(getattr(args[-1], "_obj", None), "version", None)
        if version is not None and version & 0xFFFFFF != ctypes.sizeof(args[-1]._obj):
            return 25
        outs = [arg for arg in args[1:] if hasattr(arg, "_obj") or isinstance(arg, ctypes.Array)]
        for out, one in zip(outs, value if isinstance(value, tuple) else (value,), strict=False):
            _put(out, one)
        return 0

    def _handle(self, index: Any, out: Any) -> int:
        return _put(out, BASE + index.value)

    def _mig_handle(self, card: Any, index: Any, out: Any) -> int:
        devices = self.mig.get(card.value - BASE, {})
        return _put(out, 0x10000 + 16 * (card.value - BASE) + index.value) if index.value in devices else 6

    def _fields(self, handle: Any, count: Any, buffer: Any) -> int:
        fields = self._answers(handle)["fields"]
        for item in buffer[: count.value]:
            key = (item.fieldId, item.scopeId) if (item.fieldId, item.scopeId) in fields else item.fieldId
            found = fields.get(key) if key != item.fieldId or not item.scopeId else None
            item.timestamp = time.time_ns() // 1000
            if found is None:
                item.nvmlReturn = 3
            elif found[0] is None:
                item.nvmlReturn = found[1]
            else:
                item.nvmlReturn, item.valueType = 0, found[0]
                setattr(item.value, _TYPES[found[0]], found[1])
        return 0

    def _utilization(self, handle: Any, samples: Any, count: Any, since: Any) -> int:
        new = [one for one in self._answers(handle)[D + "ProcessUtilization"] if one[1] > since.value]
        if not new:
            return 6
        if len(new) > count._obj.value:
            count._obj.value = len(new)
            return 7
        count._obj.value = len(new)
        for slot, (pid, at, busy) in zip(samples, new, strict=False):
            slot.pid, slot.timeStamp, slot.smUtil = pid, at, busy
        return 0

    def _wait(self, found: Any, data: Any, timeout: Any) -> int:
        if not self.events:
            return 10
        event = self.events[0]
        if isinstance(event, int):
            return event  # an error stays
        self.events.pop(0)
        index, kind, number = event
        data._obj.device = ctypes.cast(ctypes.c_void_p(BASE + index), type(data._obj.device))
        data._obj.eventType, data._obj.eventData = kind, number
        return 0


def _numbers(args: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(arg for arg in args if isinstance(arg, int))


def _put(out: Any, value: Any) -> int:
    target = out._obj if hasattr(out, "_obj") else out
    if isinstance(value, dict):
        for name, one in value.items():
            setattr(target, name, one)
    elif isinstance(value, bytes):
        target.value = value
    elif isinstance(value, str):
        target.value = value.encode()
    else:
        target.value = value
    return 0


def _list(values: list[Any], count: Any, slots: Any) -> int:
    room, count._obj.value = count._obj.value, len(values)
    if len(values) > room:
        return 7
    for slot, value in zip(slots, values, strict=False):
        slot.pid, slot.usedGpuMemory = value[:2]
        if hasattr(slot, "gpuInstanceId"):
            slot.gpuInstanceId, slot.computeInstanceId = value[2:] if len(value) > 2 else (0xFFFFFFFF, 0xFFFFFFFF)
    return 0
