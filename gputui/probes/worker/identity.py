"""Which card CUDA gives this process, asked before anything is allocated on it."""

from __future__ import annotations

import ctypes

_LIBRARIES = ("libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1")
"""Never the toolkit's stub, which loads and fails with error 34."""


class NoCuda(Exception):
    """CUDA cannot be asked; the text says why."""


def cuda_library() -> ctypes.CDLL:
    """The driver's CUDA library. Raises NoCuda."""
    for name in _LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise NoCuda("libcuda.so.1 was not found")


def visible_card() -> dict[str, str]:
    """uuid ("GPU-…" or "MIG-…" without its prefix: 32 hex digits with dashes) and bus_id of device 0. Raises NoCuda."""
    cuda = cuda_library()
    _check("cuInit", cuda.cuInit(0))
    device = ctypes.c_int()
    _check("cuDeviceGet", cuda.cuDeviceGet(ctypes.byref(device), 0))
    raw = (ctypes.c_ubyte * 16)()
    out = {"uuid": "", "bus_id": ""}
    for name in ("cuDeviceGetUuid_v2", "cuDeviceGetUuid"):
        call = getattr(cuda, name, None)
        if call is not None and call(ctypes.byref(raw), device) == 0:
            digits = bytes(raw).hex()
            out["uuid"] = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
            break
    text = ctypes.create_string_buffer(32)
    if cuda.cuDeviceGetPCIBusId(text, 32, device) == 0:
        out["bus_id"] = text.value.decode("ascii", "replace")
    return out


def same_card(wanted_uuid: str, wanted_bus: str, seen: dict[str, str]) -> bool:
    """Whether it is the one that was asked for: by UUID, else by PCI bus id; neither readable is a no.

    A MIG device has a UUID of its own that CUDA tells in full.
    """
    wanted = wanted_uuid.lower()
    for prefix in ("gpu-", "mig-"):
        if wanted.startswith(prefix):
            wanted = wanted[len(prefix) :]
    if seen.get("uuid"):
        return seen["uuid"].lower() == wanted
    return bool(seen.get("bus_id")) and _bus(seen["bus_id"]) == _bus(wanted_bus)


def _bus(text: str) -> str:
    """NVML writes the domain with eight digits, CUDA with four."""
    domain, _colon, rest = text.lower().partition(":")
    return f"{int(domain, 16):04x}:{rest}" if rest and domain else text.lower()


def _check(what: str, code: int) -> None:
    if code != 0:
        known = {3: "not initialised", 34: "the toolkit's stub", 100: "no device", 802: "Fabric Manager is not running"}
        raise NoCuda(f"{what} gives {code}" + (f" ({known[code]})" if code in known else ""))
