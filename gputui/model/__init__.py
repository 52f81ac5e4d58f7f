"""Pure types and state: readings, cards, frames, history, and the fleet that is their only writer.

No I/O and no clock.
"""
