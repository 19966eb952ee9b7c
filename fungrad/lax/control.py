"""Loops and branches, solutions of equations: what is given functions."""

from fungrad.programs.loops.cond import cond, switch
from fungrad.programs.loops.loops import fori_loop, map, scan
from fungrad.programs.loops.platform import platform_dependent
from fungrad.programs.loops.while_loop import while_loop
from fungrad.programs.solvers.linear_solve import custom_linear_solve
from fungrad.programs.solvers.root import custom_root

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
