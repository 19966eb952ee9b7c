"""Equations that are solved when a program runs, and differentiated implicitly.

Design: docs/design/27-programs-within-programs.md.
"""
