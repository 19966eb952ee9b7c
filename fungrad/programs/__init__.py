"""Primitives that hold programs: what calls a function of the user while it runs."""
