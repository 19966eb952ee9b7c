"""The primitives, each declared once with all its rules."""
