"""Whatever a foreign interpreter prints, only messages get through."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from gputui.probes.run import Run
from gputui.probes.wire import Lines, parsed
from gputui.probes.worker.wire import LONGEST

HELLO = {"v": 1, "kind": "hello", "pid": 5, "engine": "torch", "engine_version": "2"}


def line(**fields) -> bytes:
    return json.dumps({**HELLO, **fields}).encode()


def test_messages_are_cut_from_pieces_of_any_size():
    data = line() + b"\n" + line(pid=6) + b"\n"
    for size in (1, 7, 1000):
        lines = Lines()
        found = [m for at in range(0, len(data), size) for m in lines.feed(data[at : at + size])]
        assert [message.fields["pid"] for message in found] == [5, 6]


def test_what_is_no_message_is_dropped_and_counted():
    lines = Lines()
    noise = [b"hello", b"{}", b"[1]", line(v=2), line(kind="other"), line(pid="5"), b"\xff\xfe", b'{"v":1,"kind":[]}']
    assert next(lines.feed(b"\n".join(noise) + b"\n" + line() + b"\n")).fields["pid"] == 5
    assert lines.dropped == len(noise)


def test_a_line_without_an_end_takes_no_more_memory_than_its_bound():
    lines = Lines()
    for _ in range(20):
        assert list(lines.feed(b"x" * LONGEST)) == []
        assert len(lines._rest) <= 2 * LONGEST
    assert [m.kind for m in lines.feed(b"\n" + line() + b"\n")] == ["hello"]


def test_figures_that_are_none_do_not_pass():
    result = {"kind": "result", "unit": "T", "dtype": "", "detail": {}, "series": [], "value": 1.0}
    assert parsed(line(**result)) is not None
    for value in ("1", None, True, float("inf"), float("nan"), 10**400):
        assert parsed(line(**{**result, "value": value})) is None
    live = parsed(line(kind="live", values={"a": 1, "b": "x", "c": float("nan")}))
    assert live.fields["values"] == {"a": 1.0}
    assert parsed(line(kind="failed", reason="because", detail="")) is None


@given(st.lists(st.binary(max_size=60)))
def test_no_bytes_break_it(pieces):
    lines = Lines()
    run = Run("matmul", "GPU-1")
    for piece in pieces:
        for message in lines.feed(piece):
            run = run.after(message)
    assert run.state
