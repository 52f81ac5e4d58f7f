"""Where a text command's result goes, and the exit code a verdict means."""

from __future__ import annotations

import sys
from pathlib import Path

from gputui.cli import CANNOT_JUDGE, FAIL, OK, UsageError
from gputui.model.finding import Verdict
from gputui.text import _

_CODES = {Verdict.PASS: OK, Verdict.WARN: OK, Verdict.FAIL: FAIL, Verdict.CANNOT_JUDGE: CANNOT_JUDGE}


def exit_code(verdict: Verdict, strict: bool = False) -> int:
    """0 pass or warn, 1 fail (with `strict`, a warning too), 3 cannot judge."""
    return FAIL if strict and verdict is Verdict.WARN else _CODES[verdict]


def deliver(text: str, output: str | None) -> None:
    """Print, or write the file with mode 0600. Raises UsageError when the file cannot be written."""
    if output is None or output == "-":
        stream = sys.stdout
        stream.write(text.encode(stream.encoding or "utf-8", "replace").decode(stream.encoding or "utf-8"))
        stream.flush()
        return
    from gputui.session.snapshot import write_private

    try:
        write_private(Path(output), text)
    except OSError as error:
        raise UsageError(
            _("cannot write {file}: {why}; choose another place with -o").format(file=output, why=error.strerror)
        ) from error
