"""Pure functions from values to rows of (text, role). A row's role names become colours in theme.py."""
