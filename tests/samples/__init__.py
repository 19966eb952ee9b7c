"""The table of primitives, one row or more for each; a module mirrors a file of primitives/."""
