"""Python itself under the transforms: branches, loops and NumPy's own functions in the user's code."""
