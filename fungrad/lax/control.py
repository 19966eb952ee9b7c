"""Loops and branches, solutions of equations: what is given functions."""

from fungrad.control.cond import cond, switch
from fungrad.control.linear_solve import custom_linear_solve
from fungrad.control.loops import fori_loop, map, scan
from fungrad.control.platform import platform_dependent
from fungrad.control.root import custom_root
from fungrad.control.while_loop import while_loop

__all__ = [
    "cond",
    "custom_linear_solve",
    "custom_root",
    "fori_loop",
    "map",
    "platform_dependent",
    "scan",
    "switch",
    "while_loop",
]
