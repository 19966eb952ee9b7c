"""Passes over a program, each of which makes a smaller one that gives the same results."""
