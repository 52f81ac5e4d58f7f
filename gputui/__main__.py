"""`python -m gputui` is the same program as the console script."""

import sys

from gputui.cli import main

if __name__ == "__main__":
    sys.exit(main())
