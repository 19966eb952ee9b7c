"""A jitted function for one type of arguments, to look at and to call: `Lowered` and `Compiled`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from fungrad.compile.lower import Program, readable
from fungrad.compile.simplify import after_each_pass
from fungrad.compile.steps import Schedule
from fungrad.core import tree
from fungrad.core.errors import api_boundary
from fungrad.core.expr import Expr
from fungrad.transforms.argnums import strongly, with_static
from fungrad.transforms.call import argument_types, as_operand
from fungrad.transforms.entry import Entry
from fungrad.transforms.explain import described


class OfAllTypes(Protocol):
    """What is asked of the jitted function itself."""

    name: str

    def key_order(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tree.KeyOrder:
        """Return the orders of the keys of dicts, as far as the function can see them."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it, compiled for the types of these arguments."""


class Lowered:
    """A function traced for one type of arguments, in each stage from there on. Made by ``jit(f).lower(*args)``.

    Examples
    --------
    >>> import fungrad as fg
    >>> lowered = fg.jit(lambda x: x * (1.0 + 2.0 * x)).lower(1.0)
    >>> lowered.schedule
    { schedule r0:float64[] .
      r1:float64[] = 2.0
      r3:float64[] = 1.0
      r2 = multiply r1 r0
      r4 = add r3 r2
      free r2
      r5 = multiply r0 r4
      free r4
      return (r5) }
    >>> print(lowered.source, end="")
    def program(a):
        b = 2.0 * a
        c = 1.0 + b
        del b
        d = a * c
        del c
        return [d[()]]
    """

    def __init__(self, jitted: OfAllTypes, entry: Entry) -> None:
        self._jitted = jitted
        self._entry = entry
        self._static = strongly(entry.signature.static)
        self.in_types = entry.in_types

    @property
    def expr(self) -> Expr:
        """What was traced."""
        return self._entry.traced

    @property
    def simplified(self) -> Expr:
        """The same with less to compute."""
        return self._program.expr

    @property
    def passes(self) -> tuple[tuple[str, Expr], ...]:
        """How it got there: the name of each pass over the program, and what that has made."""
        return tuple(after_each_pass(self._program.given))

    @property
    def schedule(self) -> Schedule:
        """What is called, overwritten and freed, step by step."""
        return self._program.schedule

    @property
    def source(self) -> str:
        """The NumPy source it is compiled to: loops and branches before it, what solvers and rules of one's own run below."""
        return readable(self._program.source)

    @property
    def kernels(self) -> tuple[Any, ...]:
        """What of it is one loop each, once it has run a few times and llvmlite is installed; each prints.

        Examples
        --------
        >>> import fungrad as fg, fungrad.numpy as fnp, numpy as np
        >>> fg.jit(lambda x: fnp.sum(x * x)).lower(np.ones(5)).kernels
        ({ kernel over [] x [5] of float64[5] along [0] .
          n0:float64 = load 0    elements, pass 0
          n1:float64 = mul n0 n0    elements, pass 0
          n2:float64 = reduce_sum n1    rows, pass 1
          write n2 of rows },)
        """
        from fungrad.compile.native import schedule_with_kernels

        _, kernels = schedule_with_kernels(self._program.expr)
        return tuple([fused.kernel for fused in kernels])

    @property
    def _program(self) -> Program:
        return self._entry.donating or self._entry.program

    def as_text(self) -> str:
        """Return the traced program as text."""
        return str(self.expr)

    def compile(self) -> Compiled:
        """Compile now, kernels too; return a function that takes only arguments of these types."""
        self._program.compile_kernels()
        return Compiled(self._jitted, self._entry)


class Compiled:
    """A function compiled for one type of arguments. Made by ``jit(f).lower(*args).compile()``."""

    def __init__(self, jitted: OfAllTypes, entry: Entry) -> None:
        self._jitted = jitted
        self._entry = entry
        self._static = strongly(entry.signature.static)
        self.in_types = entry.in_types

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run. Static arguments are left out.

        Raises
        ------
        TypeError
            If the arguments have not the structure and types it was compiled for.
        """
        name = self._jitted.name
        leaves, structure = tree.flatten((args, kwargs))
        if structure != self._entry.in_structure:
            raise TypeError(
                f"this program of {name} was compiled for arguments of structure "
                f"{self._entry.in_structure}, and is called with {structure}"
            )
        types = tuple(argument_types(leaves, args, kwargs, f"compiled {name}"))
        if types != self.in_types:
            raise TypeError(
                f"this program of {name} was compiled for arguments of types "
                f"{', '.join(map(described, self.in_types))}, and is called with "
                f"{', '.join(map(described, types))}; call the jitted function itself to compile for others"
            )
        order = self._jitted.key_order(args, kwargs)
        if order != self._entry.signature.order:  # a function can tell these apart
            args_, kwargs_ = with_static(args, kwargs, self._static)
            return self._jitted(*args_, **kwargs_)
        return self._entry.run([as_operand(x) for x in leaves], False)
