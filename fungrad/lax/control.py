"""Loops, branches and solutions of equations: functions of functions."""

from fungrad.programs.loops.cond import cond as cond
from fungrad.programs.loops.cond import switch as switch
from fungrad.programs.loops.loops import fori_loop as fori_loop
from fungrad.programs.loops.loops import map as map
from fungrad.programs.loops.loops import scan as scan
from fungrad.programs.loops.platform import platform_dependent as platform_dependent
from fungrad.programs.loops.while_loop import while_loop as while_loop
from fungrad.programs.solvers.linear_solve import custom_linear_solve as custom_linear_solve
from fungrad.programs.solvers.root import custom_root as custom_root
