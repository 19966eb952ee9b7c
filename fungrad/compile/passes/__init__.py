"""Passes over a program, each to a smaller one with the same results."""
