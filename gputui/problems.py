"""Why there is no data, in one plain sentence each, and who can mend it. Used by every command and by the screen."""

from __future__ import annotations

from dataclasses import dataclass

from gputui.model.card import Problem
from gputui.text import _


@dataclass(frozen=True)
class Said:
    """A start-up problem in words. who is "you" or "host"; action says what that party does."""

    sentence: str
    who: str
    action: str

    def line(self) -> str:
        """Everything on one line."""
        return f"{self.sentence} {self.action}"


def say(problem: Problem) -> Said:
    """The sentence for a problem. An id nobody wrote a sentence for is named as it is, with the driver's own detail."""
    makers = {
        "driver-not-loaded": _not_loaded,
        "driver-mismatch": _mismatch,
        "no-permission": _no_permission,
        "no-devices": _no_devices,
        "container-lost-access": _lost_access,
        "driver-too-old": _too_old,
        "driver-not-answering": _not_answering,
        "worker-error": _worker_error,
    }
    maker = makers.get(problem.id)
    if maker is None:
        return Said(
            _("The driver cannot be used: {what}.").format(what=problem.detail or problem.id),
            "host",
            _("Show this line to the host."),
        )
    return maker(problem)


def _code(problem: Problem) -> str:
    return "" if problem.code is None else f" (NVML {problem.code})"


def _not_loaded(problem: Problem) -> Said:
    if problem.code in (None, 12):
        return Said(
            _("No NVIDIA driver library (libnvidia-ml.so.1) was found."),
            "you",
            _("In a container, start it with GPU access (--gpus all); on a bare machine the NVIDIA driver is missing."),
        )
    return Said(
        _("The NVIDIA kernel driver is not loaded{code}.").format(code=_code(problem)),
        "host",
        _("Ask the host to load the nvidia module or to move you to another machine."),
    )


def _mismatch(problem: Problem) -> Said:
    detail = f": {problem.detail}" if problem.detail else ""
    return Said(
        _("Driver library and kernel module have different versions{detail}.").format(detail=detail),
        "host",
        _("The driver was upgraded without a reload; ask the host to reboot or to reload the module."),
    )


def _no_permission(problem: Problem) -> Said:
    return Said(
        _("You have no permission to open /dev/nvidia*{code}.").format(code=_code(problem)),
        "host",
        _("Ask for access to the device files, or restart the container with GPU access."),
    )


def _no_devices(_problem: Problem) -> Said:
    return Said(
        _("The driver is loaded but shows no GPU (CUDA_VISIBLE_DEVICES has no effect here)."),
        "host",
        _("Restart the container with GPU access; if that shows none either, the host has no working card."),
    )


def _lost_access(problem: Problem) -> Said:
    return Said(
        _('Every card answers "unknown error" at once{code}: this container has lost its access to the GPUs.').format(
            code=_code(problem)
        ),
        "you",
        _("Restart the container; if it comes back, ask the host to stop reloading its service manager under it."),
    )


def _too_old(problem: Problem) -> Said:
    return Said(
        _("This driver is too old for its library to be read{detail}.").format(
            detail=f" ({problem.detail})" if problem.detail else ""
        ),
        "host",
        _("Ask the host for a driver of version 450 or newer."),
    )


def _not_answering(problem: Problem) -> Said:
    return Said(
        _("The driver did not answer{detail}.").format(detail=f" ({problem.detail})" if problem.detail else ""),
        "host",
        _("Nothing on this machine can end a driver call that hangs; save your work and ask the host for a reboot."),
    )


def _worker_error(problem: Problem) -> Said:
    return Said(
        _("The part of gputui that reads the driver failed: {detail}.").format(detail=problem.detail or problem.id),
        "you",
        _("That is a mistake of ours; please report this line. `gputui --demo` works without a driver."),
    )
