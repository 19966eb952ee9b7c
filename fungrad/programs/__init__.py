"""Primitives that hold programs, and call functions of the user's while they run."""
