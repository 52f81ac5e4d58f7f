"""Rules of this family; not written yet."""
