"""From a program to a Python function of library calls."""
