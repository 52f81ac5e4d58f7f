"""The machine around the cards: processes, device files, container limits, fingerprints of GPU slicers.

Everything is read from /proc, /sys and /dev; every function takes a `root` in place of / for tests.
"""
