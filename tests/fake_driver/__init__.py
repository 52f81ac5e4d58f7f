"""A stand-in for the driver's library, built by the tests. See README.md in this folder."""
