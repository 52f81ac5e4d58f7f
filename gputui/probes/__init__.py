"""Probes: what measures a card instead of believing it.

One probe is one process on one card. `table` says what there is, `admit` whether it may start, `runner` starts and ends
it, `worker` is what runs, in an interpreter of the user's that has torch; `scripted` answers for simulated hosts.
"""
