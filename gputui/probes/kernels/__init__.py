"""The programs that run on the card, as PTX text that any driver since r450 compiles for its card when it loads it.

`KERNELS` says what there is to launch and with which parameters; `ptx` gives the text of a file for cuModuleLoadDataEx.
The .cu files are the sources; tests/tools/build_kernels.py makes the .ptx files from them. The grid is one-dimensional.
A host zeroes every output whose text says so, and no other. The kernels that wait for a duration give up after as many
turns as nanoseconds: elapsed ns below the duration mean a timer that stands still, and say nothing about the card.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Literal

Type = Literal["u32", "u64", "f32", "pointer"]
"""What cuLaunchKernel is given: c_uint32, c_uint64, c_float, or a device address as c_uint64."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel.

    element, length: of a buffer, the type of its elements and how many there are at least; "" for a value.
    output: the kernel writes it. holds: what it is and its unit; for a buffer, in the order of the elements.
    """

    name: str
    type: Type
    holds: str
    element: str = ""
    length: str = ""
    output: bool = False


@dataclass(frozen=True)
class Kernel:
    """One kernel.

    file: without ".ptx", as `ptx` takes it. threads: most per block. grid: how many blocks and threads make sense.
    capability: the least compute capability of a card that runs it.
    """

    file: str
    entry: str
    parameters: tuple[Parameter, ...]
    threads: int
    grid: str
    capability: tuple[int, int] = (6, 0)


def _value(name: str, type_: Type, holds: str) -> Parameter:
    """A number."""
    return Parameter(name, type_, holds)


def _input(name: str, element: str, length: str, holds: str) -> Parameter:
    """A buffer the kernel reads."""
    return Parameter(name, "pointer", holds, element, length)


def _output(name: str, element: str, length: str, holds: str) -> Parameter:
    """A buffer the kernel writes."""
    return Parameter(name, "pointer", holds, element, length, True)


_DURATION = _value("duration", "u64", "ns")
_VECTORS = _value("vectors", "u64", "length of the buffer in vectors of 16 bytes")
_FIRST = _value("first", "u64", "place of the buffer's first 32-bit word in the pattern that several buffers share")
_KIND = _value("kind", "u32", "0 hash of the place, 2 the seed everywhere, 4 a walking bit; 1, 3, 5 their complements")
_SEED = _value("seed", "u32", "any number: another seed, another pattern")
_METER = _output("meter", "u64", "3 * blocks", "of each block: SM cycles, ns, SM number")

KERNELS: Mapping[str, Kernel] = MappingProxyType(
    {
        kernel.entry: kernel
        for kernel in (
            Kernel(
                "gap",
                "gap",
                (
                    _DURATION,
                    _value("threshold", "u64", "ns; a longer step of the timer is a gap"),
                    _value("cap", "u64", "gaps kept; those past it are only counted"),
                    _output(
                        "totals",
                        "u64",
                        "6",
                        "gaps, stolen ns, elapsed ns, turns, shortest step of the timer in ns (0: it never moved), "
                        "longest gap in ns",
                    ),
                    _output("gaps", "u64", "2 * cap", "of each gap: start in ns after the kernel's, length in ns"),
                ),
                32,
                "1 block of 1 warp; only its first thread works",
            ),
            Kernel(
                "coverage",
                "coverage",
                (
                    _DURATION,
                    _value("cap", "u32", "length of blocks; SM numbers have holes, so ask for 1024"),
                    _output("blocks", "u32", "cap", "zeroed by the host; blocks that ran on the SM of that number"),
                    _output(
                        "limits",
                        "u32",
                        "2",
                        "zeroed by the host; SM numbers there may be, blocks whose SM number was past the cap",
                    ),
                ),
                1024,
                "4 blocks per SM of 1024 threads, so that an SM holds no more than two at a time",
            ),
            Kernel(
                "clock",
                "clock_meter",
                (
                    _value("turns", "u32", "64 dependent FMAs of each thread per turn"),
                    _value("scale", "f32", "factor of the FMA, below 1 so that values stay finite"),
                    _value("shift", "f32", "summand of the FMA"),
                    _METER,
                    _output("ends", "f32", "blocks * threads", "last value of each chain, alike in all blocks"),
                ),
                1024,
                "1 block of 32 threads for the clock; 1 block of 1024 per SM for FMAs per cycle and as fixed work",
            ),
            Kernel(
                "memory",
                "copy",
                (
                    _output("to", "u32", "4 * vectors", "the copy"),
                    _input("from", "u32", "4 * vectors", "what is copied"),
                    _VECTORS,
                ),
                512,
                "4 blocks per SM of 512 threads",
            ),
            Kernel(
                "memory",
                "read",
                (
                    _input("from", "u32", "4 * vectors", "what is read"),
                    _VECTORS,
                    _output("sums", "u64", "blocks", "sum of the 32-bit words each block read, modulo 2^64"),
                ),
                512,
                "4 blocks per SM of 512 threads",
            ),
            Kernel(
                "memory",
                "fill_pattern",
                (_output("to", "u32", "4 * vectors", "the pattern"), _VECTORS, _FIRST, _KIND, _SEED),
                512,
                "4 blocks per SM of 512 threads",
            ),
            Kernel(
                "memory",
                "check_pattern",
                (
                    _input("from", "u32", "4 * vectors", "what fill_pattern wrote"),
                    _VECTORS,
                    _FIRST,
                    _KIND,
                    _SEED,
                    _value("cap", "u32", "wrong words kept; those past it are only counted"),
                    _output(
                        "found",
                        "u64",
                        "3",
                        "zeroed by the host; wrong 32-bit words, slots asked for (kept is the lesser of it and cap), "
                        "mask of the bits that ever differed",
                    ),
                    _output("wrong", "u64", "3 * cap", "of each word kept: place, expected, seen; in no order"),
                ),
                512,
                "4 blocks per SM of 512 threads",
            ),
            Kernel(
                "spin",
                "spin",
                (_DURATION, _output("waited", "u64", "blocks", "ns each block saw pass")),
                1024,
                "1 block per SM; 1 block of 0 ns for the launch latency",
            ),
            Kernel(
                "mma",
                "mma",
                (
                    _value("turns", "u32", "8 instructions of each warp per turn, 4096 operations each; at most 2^22"),
                    _input("feed", "u32", "20 * threads", "pairs of random finite bf16, the same for every block"),
                    _output("ends", "f32", "32 * blocks * threads", "accumulators, alike in all blocks"),
                    _METER,
                ),
                256,
                "1 or 2 blocks per SM of 256 threads; whole warps only",
                (8, 0),
            ),
        )
    }
)
"""By entry name. Launch with the parameters in this order."""


def ptx(name: str) -> str:
    """The text of a file, such as "memory"."""
    return (files(__name__) / f"{name}.ptx").read_text("utf-8")
