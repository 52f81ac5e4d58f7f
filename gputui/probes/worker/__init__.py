"""What runs inside a probe's process: Python 3.8 or later, the standard library, and torch where a probe says so.

The interpreter is the user's, so nothing else of this program may be imported here.
"""
