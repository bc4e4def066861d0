"""The fast engine: patterns as tables, events as columns, and loops that numba compiles."""
