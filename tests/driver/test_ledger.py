"""The ledger of driver calls."""

from __future__ import annotations

import threading

from gputui.driver.ledger import Ledger
from gputui.model.wire import Call


def test_a_call_is_under_way_between_begin_and_end():
    ledger = Ledger(clock=iter([10.0, 20.0]).__next__)
    assert ledger.under_way() == ()
    ledger.begin("nvmlInit_v2")
    assert ledger.under_way() == (Call("nvmlInit_v2", None, 10.0),)
    ledger.end()
    ledger.end()
    assert ledger.under_way() == ()
    ledger.begin("nvmlDeviceGetName", "GPU-1")
    assert ledger.under_way() == (Call("nvmlDeviceGetName", "GPU-1", 20.0),)
    assert ledger.count == 2


def test_each_thread_has_its_own_and_a_hung_one_stays():
    ledger, begun, release = Ledger(), threading.Barrier(4), threading.Event()

    def call(number: int) -> None:
        ledger.begin("hangs", f"GPU-{number}")
        begun.wait(10)
        release.wait(10)
        ledger.end()

    threads = [threading.Thread(target=call, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    begun.wait(10)
    ledger.begin("quick", None)
    ledger.end()
    assert {call.uuid for call in ledger.under_way()} == {"GPU-0", "GPU-1", "GPU-2"}
    release.set()
    for thread in threads:
        thread.join()
    assert ledger.under_way() == ()


def test_asking_while_others_call_neither_fails_nor_miscounts():
    ledger = Ledger()

    def call() -> None:
        for _ in range(20_000):
            ledger.begin("x", "GPU-0")
            ledger.end()

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert len(ledger.under_way()) <= 3
    assert ledger.under_way() == ()
    assert 60_000 - 3 <= ledger.count <= 60_000
