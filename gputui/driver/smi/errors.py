"""Why a file cannot be read, as one sentence."""

from __future__ import annotations


class SmiError(Exception):
    """A file that is not what it should be; the text is one sentence: what, where, what to do."""
