"""The one place that touches NVML: loading it, its C layouts, and a call that returns a code instead of raising.

pynvml supplies the layouts and version words. Its wrapper functions are not used: they raise on bad bytes in a name
(nvitop #127), cost an exception for every unsupported reading, ask twice for lists, and give no name to the ledger.
Every call is written down before it is made, because a call that hangs cannot be asked what it is.

Only functions that read are ever called; a test looks for others.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import byref, c_char, c_int, c_uint, c_ulonglong, c_void_p
from dataclasses import dataclass
from typing import Any

import pynvml

from gputui.driver.ledger import LEDGER

SUCCESS = 0
INVALID_ARGUMENT = 2
NOT_SUPPORTED = 3
NO_PERMISSION = 4
NOT_FOUND = 6
INSUFFICIENT_SIZE = 7
DRIVER_NOT_LOADED = 9
TIMEOUT = 10
LIBRARY_NOT_FOUND = 12
FUNCTION_NOT_FOUND = 13
GPU_IS_LOST = 15
RESET_REQUIRED = 16
LIB_RM_VERSION_MISMATCH = 18
ARGUMENT_VERSION_MISMATCH = 25
DEPRECATED = 26
GPU_NOT_FOUND = 28
UNKNOWN = 999
"""nvmlReturn_t (nvml.h)."""

ALL_ONES_32 = 0xFFFFFFFF
ALL_ONES_64 = 0xFFFFFFFFFFFFFFFF
LIBRARIES = ("libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1")
"""Under WSL the library lies outside the loader's path unless /etc/ld.so.conf.d says otherwise."""

Raw = int | float | str | None
"""One value as the driver gave it; None for all-ones, which NVML uses for "not available" in every unsigned field."""
Answer = tuple[int, tuple[Raw, ...]]


class LibraryMissing(Exception):
    """The library could not be loaded; the text is the loader's own."""


@dataclass(frozen=True)
class Call:
    """A getter: its symbol, what it writes, and its arguments between the handle and what it writes.

    shape is "u32", "u32x2", "u32x4", "u64", "count", "text:SIZE", "bare-text:SIZE" (a buffer without its length), or
    the name of a layout.
    """

    function: str
    shape: str = "u32"
    args: tuple[int, ...] = ()


@dataclass(frozen=True)
class Field:
    """A field value id, and its scope (a link, or a power scope)."""

    id: int
    scope: int = 0


@dataclass(frozen=True)
class FieldAnswer:
    """One field: the call's own code for it, the value, whether it is 64 bits wide, and the driver's time in µs."""

    code: int
    value: Raw = None
    wide: bool = False
    time_us: int = 0


class _Signed(ctypes.Structure):
    """Version word and one signed value: nvmlMarginTemperature_v1_t."""

    _fields_ = [("version", c_uint), ("value", c_int)]


class _Unsigned(ctypes.Structure):
    """Version word and one value: nvmlDeviceAddressingMode_v1_t."""

    _fields_ = [("version", c_uint), ("value", c_uint)]


class _Indexed(ctypes.Structure):
    """Version word, what to read, and the value: nvmlFanSpeedInfo_v1_t."""

    _fields_ = [("version", c_uint), ("index", c_uint), ("value", c_uint)]


class _IndexedSigned(ctypes.Structure):
    """Version word, which sensor, and the signed value: nvmlTemperature_v1_t."""

    _fields_ = [("version", c_uint), ("index", c_uint), ("value", c_int)]


class _Fabric3(ctypes.Structure):
    """nvmlGpuFabricInfo_v3_t; written out because older bindings lack it."""

    _fields_ = [
        ("version", c_uint),
        ("clusterUuid", ctypes.c_uint8 * 16),
        ("status", c_uint),
        ("cliqueId", c_uint),
        ("state", c_uint),
        ("healthMask", c_uint),
        ("healthSummary", ctypes.c_uint8),
    ]


class _Fabric2(ctypes.Structure):
    """nvmlGpuFabricInfo_v2_t."""

    _fields_ = _Fabric3._fields_[:-1]


class _Fabric1(ctypes.Structure):
    """nvmlGpuFabricInfo_t."""

    _fields_ = _Fabric3._fields_[1:5]


class _ProcessV1(ctypes.Structure):
    """nvmlProcessInfo_v1_t: what the unversioned list functions of the library write."""

    _fields_ = [("pid", c_uint), ("usedGpuMemory", c_ulonglong)]


@dataclass(frozen=True)
class _Layout:
    struct: Any
    items: tuple[str, ...]
    version: int | None = None


LAYOUTS: dict[str, _Layout] = {
    "memory-v1": _Layout(pynvml.c_nvmlMemory_t, ("total", "free", "used")),
    "memory-v2": _Layout(pynvml.c_nvmlMemory_v2_t, ("total", "free", "used", "reserved"), 0x02000028),
    "bar1": _Layout(pynvml.c_nvmlBAR1Memory_t, ("bar1Total", "bar1Free", "bar1Used")),
    "utilization": _Layout(pynvml.c_nvmlUtilization_t, ("gpu", "memory")),
    "pci": _Layout(pynvml.nvmlPciInfo_t, ("busId", "pciDeviceId", "pciSubSystemId")),
    "violation": _Layout(pynvml.c_nvmlViolationTime_t, ("violationTime", "referenceTime")),
    "attributes": _Layout(
        pynvml.c_nvmlDeviceAttributes, ("multiprocessorCount", "gpuInstanceSliceCount", "memorySizeMB")
    ),
    "margin": _Layout(_Signed, ("value",), 0x01000008),
    "addressing": _Layout(_Unsigned, ("value",), 0x01000008),
    "fan-rpm": _Layout(_Indexed, ("value",), 0x0100000C),
    "temperature-v1": _Layout(_IndexedSigned, ("value",), 0x0100000C),
    "fabric-v3": _Layout(_Fabric3, ("state", "status"), 0x03000028),
    "fabric-v2": _Layout(_Fabric2, ("state", "status"), 0x02000024),
    "fabric-v1": _Layout(_Fabric1, ("state", "status")),
}
"""What each structure is called here, and which of its members are read, in this order."""

_SIGNED = ("margin", "temperature-v1")
_VALUE_OF_TYPE = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
_WIDE_TYPES = (2, 3, 4)
"""nvmlValueType_t: double, unsigned int, unsigned long, unsigned long long, signed long long, signed int, unsigned
short."""


def decode(raw: bytes) -> str:
    """Text of the driver. Bytes that are not UTF-8 (WSL 555.85 gave F8 in a name) and control characters, which would
    reach the terminal, become U+FFFD.
    """
    text = raw.split(b"\0", 1)[0].decode("utf-8", errors="replace").strip()
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def _number(value: int | bytes, signed: bool = False) -> Raw:
    if isinstance(value, bytes):
        return decode(value)
    return None if not signed and value in (ALL_ONES_32, ALL_ONES_64) else value


def _unsigned(kind: Any, count: int) -> Callable[[Any, c_void_p, tuple[int, ...]], Answer]:
    def run(function: Any, handle: c_void_p, args: tuple[int, ...]) -> Answer:
        outs = [kind() for _ in range(count)]
        code = function(handle, *args, *[byref(out) for out in outs])
        return code, tuple(_number(out.value) for out in outs)

    return run


def _text(size: int, bare: bool) -> Callable[[Any, c_void_p, tuple[int, ...]], Answer]:
    def run(function: Any, handle: c_void_p, args: tuple[int, ...]) -> Answer:
        buffer = (c_char * size)()
        rest = (buffer,) if bare else (buffer, c_uint(size))
        code = function(handle, *args, *rest)
        return code, (decode(buffer.raw),)

    return run


def _structure(name: str) -> Callable[[Any, c_void_p, tuple[int, ...]], Answer]:
    layout, signed = LAYOUTS[name], name in _SIGNED

    def run(function: Any, handle: c_void_p, args: tuple[int, ...]) -> Answer:
        data = layout.struct()
        if layout.version is not None:
            data.version = layout.version
        if args and hasattr(data, "index"):
            data.index, args = args[0], args[1:]
        code = function(handle, *args, byref(data))
        return code, tuple(_number(getattr(data, item), signed) for item in layout.items)

    return run


def _count(function: Any, handle: c_void_p, args: tuple[int, ...]) -> Answer:
    """How long a list is, asked without room for it: then "insufficient size" is the answer."""
    length = c_uint(0)
    code = function(handle, *args, byref(length), None)
    return (SUCCESS if code == INSUFFICIENT_SIZE else code), (_number(length.value),)


def _shape(name: str) -> Callable[[Any, c_void_p, tuple[int, ...]], Answer]:
    kind, _, size = name.partition(":")
    if kind == "count":
        return _count
    if kind.endswith("text"):
        return _text(int(size), bare=kind == "bare-text")
    if name in LAYOUTS:
        return _structure(name)
    base, _, count = name.partition("x")
    return _unsigned({"u32": c_uint, "u64": c_ulonglong}[base], int(count or 1))


class Api:
    """A loaded library. Any thread may call; ctypes lets go of the interpreter for each call."""

    def __init__(self) -> None:
        error: OSError | None = None
        for name in LIBRARIES:
            try:
                self._library = ctypes.CDLL(name)
                break
            except OSError as found:
                error = error or found
        else:
            raise LibraryMissing(f"library not found: {error}")
        self._functions: dict[str, Any] = {}
        self._shapes: dict[str, Callable[[Any, c_void_p, tuple[int, ...]], Answer]] = {}

    def _function(self, name: str) -> Any:
        """The symbol, None when this library has none of that name."""
        try:
            return self._functions[name]
        except KeyError:
            found = self._functions[name] = getattr(self._library, name, None)
            return found

    def has(self, name: str) -> bool:
        """Whether this library has the symbol."""
        return self._function(name) is not None

    def call(self, name: str, uuid: str | None, *args: Any) -> int:
        """Call a function that writes through its arguments; the driver's code, or FUNCTION_NOT_FOUND."""
        function = self._function(name)
        if function is None:
            return FUNCTION_NOT_FOUND
        LEDGER.begin(name, uuid)
        try:
            return int(function(*args))
        finally:
            LEDGER.end()

    def ask(self, call: Call, handle: c_void_p, uuid: str | None) -> Answer:
        """Ask a getter about one card. The values mean nothing unless the code is SUCCESS."""
        function = self._function(call.function)
        if function is None:
            return FUNCTION_NOT_FOUND, ()
        shape = self._shapes.get(call.shape) or self._shapes.setdefault(call.shape, _shape(call.shape))
        LEDGER.begin(call.function, uuid)
        try:
            return shape(function, handle, call.args)
        finally:
            LEDGER.end()

    def text(self, name: str, size: int = 96) -> Raw:
        """A text of the whole system such as the driver version, None when there is none."""
        buffer = (c_char * size)()
        return decode(buffer.raw) if self.call(name, None, buffer, c_uint(size)) == SUCCESS else None

    def unsigned(self, name: str) -> Answer:
        """A number of the whole system."""
        out = c_uint()
        return self.call(name, None, byref(out)), (out.value,)

    def handle(self, index: int, uuid: str | None = None) -> tuple[int, c_void_p]:
        """The handle of a card by the driver's index. It means nothing unless the code is SUCCESS: a null handle
        passed on is a segmentation fault (nvitop #139).
        """
        handle = c_void_p()
        name = "nvmlDeviceGetHandleByIndex_v2"
        if not self.has(name):
            name = "nvmlDeviceGetHandleByIndex"
        code = self.call(name, uuid, c_uint(index), byref(handle))
        return (UNKNOWN if code == SUCCESS and not handle.value else code), handle

    def mig_handle(self, card: c_void_p, index: int, uuid: str | None) -> tuple[int, c_void_p]:
        """The handle of a MIG device of a card."""
        handle = c_void_p()
        code = self.call("nvmlDeviceGetMigDeviceHandleByIndex", uuid, card, c_uint(index), byref(handle))
        return (NOT_FOUND if code == SUCCESS and not handle.value else code), handle


class FieldBatch:
    """Several fields in one call, with its buffer kept between calls."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self.fields = tuple(fields)
        self._buffer = (pynvml.c_nvmlFieldValue_t * len(self.fields))()

    def read(self, api: Api, handle: c_void_p, uuid: str | None) -> tuple[int, dict[Field, FieldAnswer]]:
        """The code of the call, and the answer for each field when it is SUCCESS."""
        for field, item in zip(self.fields, self._buffer, strict=True):
            # A driver that does not know an id may leave its entry alone: then it must not look like a value.
            item.fieldId, item.scopeId, item.nvmlReturn, item.valueType = field.id, field.scope, NOT_SUPPORTED, 1
        code = api.call("nvmlDeviceGetFieldValues", uuid, handle, c_int(len(self.fields)), self._buffer)
        if code != SUCCESS:
            return code, {}
        return code, {field: _field(item) for field, item in zip(self.fields, self._buffer, strict=True)}


def _field(item: Any) -> FieldAnswer:
    if item.nvmlReturn != SUCCESS:
        return FieldAnswer(item.nvmlReturn)
    kind = item.valueType
    if kind >= len(_VALUE_OF_TYPE):
        return FieldAnswer(NOT_SUPPORTED)
    value = getattr(item.value, _VALUE_OF_TYPE[kind])
    signed = kind in (0, 4, 5)
    return FieldAnswer(SUCCESS, value if signed else _number(value), kind in _WIDE_TYPES, item.timestamp)


def process_array(version: int, count: int) -> Any:
    """Room for `count` entries of a process list, as its function of that version writes them."""
    return ((_ProcessV1 if version == 1 else pynvml.c_nvmlProcessInfo_v2_t) * count)()


def utilization_array(count: int) -> Any:
    """Room for `count` samples of process utilization."""
    return (pynvml.c_nvmlProcessUtilizationSample_t * count)()


def event_data() -> Any:
    """Room for one event."""
    return pynvml.c_nvmlEventData_t()


def address(handle: Any) -> int | None:
    """The number behind a handle of an event, to compare with a card's; None for a null one."""
    return ctypes.cast(handle, c_void_p).value
