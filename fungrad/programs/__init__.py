"""Primitives that hold programs, and call functions of the user's while they run.

Design: docs/design/12-primitives-that-hold-programs.md.
"""
