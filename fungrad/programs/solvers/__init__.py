"""Equations that are solved when a program runs, and differentiated implicitly."""
