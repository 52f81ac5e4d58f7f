"""The app by concern: what a person can do, one module a subject."""
