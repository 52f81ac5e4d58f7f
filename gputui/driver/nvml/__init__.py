"""The live NVIDIA driver through its management library."""

from __future__ import annotations

from gputui.driver.protocol import DriverSource


def open_source() -> DriverSource:
    """The live driver as a source. Nothing is loaded before its `open`."""
    from gputui.driver.nvml.source import NvmlSource

    return NvmlSource()
