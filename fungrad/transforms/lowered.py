"""A jitted function for one type of arguments, to look at and to call: `Lowered` and `Compiled`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from fungrad.compile.lower import Program
from fungrad.compile.peak import peak
from fungrad.compile.pipeline import Way, after_each_pass
from fungrad.compile.readable import readable
from fungrad.compile.steps import Schedule
from fungrad.core import tree
from fungrad.core.backend import CUPY
from fungrad.core.errors import api_boundary
from fungrad.core.expr import Expr
from fungrad.core.types import ArrayType
from fungrad.transforms.argnums import strongly, with_static
from fungrad.transforms.arguments import argument_types, as_operand
from fungrad.transforms.entry import Entry
from fungrad.transforms.explain import described


class OfAllTypes(Protocol):
    """Interface of the jitted function itself."""

    name: str

    def key_order(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tree.KeyOrder:
        """Return the orders of the keys of dicts, as far as the function can see them."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it, compiled for the types of these arguments."""


class _OfOneType:
    """A jitted function, traced for one type of arguments."""

    def __init__(self, jitted: OfAllTypes, entry: Entry) -> None:
        self._jitted = jitted
        self._entry = entry
        self._static = strongly(entry.signature.static)
        self.in_types = entry.in_types
        self.in_tree, self.out_tree = entry.in_structure, entry.structure

    def _title(self) -> str:
        types = ", ".join(map(str, self.in_types))
        return f"{type(self).__name__} jit({self._jitted.name}) of ({types}):"

    @property
    def _program(self) -> Program:
        return self._entry.donating or self._entry.program

    @property
    def in_avals(self) -> Any:
        """The types of the arguments that are not static: a pair of positional ones and those by keyword."""
        return _structs(self.in_tree, self.in_types)

    @property
    def out_info(self) -> Any:
        """The types of the results, each a `fungrad.ShapeDtypeStruct`."""
        return _structs(self.out_tree, self._entry.traced.output_types)

    def cost_analysis(self) -> dict[str, float]:
        """Return estimates of operations, "flops", and of bytes read and written, "bytes accessed".

        They are those of the equations as they stand, one by one (`fungrad.primitives.cost`); what a loop or a solver does is not
        counted.

        Examples
        --------
        >>> import fungrad as fg, numpy as np
        >>> fg.jit(lambda x: x @ x).lower(np.ones((10, 10))).cost_analysis()
        {'flops': 2000.0, 'bytes accessed': 2400.0}
        """
        from fungrad.primitives.cost import cost  # few programs need it

        expr = self._program.expr
        costs = [
            cost(p, [expr.types[v] for v in inputs], [expr.types[v] for v in outputs])
            for p, inputs, outputs in expr.equations
        ]
        moved = sum(c.read + c.written for c in costs)
        return {"flops": sum(c.flops for c in costs), "bytes accessed": float(moved)}


def _structs(structure: tree.TreeDef, types: Sequence[ArrayType]) -> Any:
    from fungrad.transforms.abstract import ShapeDtypeStruct

    return tree.unflatten(structure, list(map(ShapeDtypeStruct.of, types)))


class Lowered(_OfOneType):
    """A function traced for one type of arguments, in each later stage. Made by ``jit(f).lower(*args)``.

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

    def __repr__(self) -> str:
        return f"{self._title()}\n{self.expr}"

    @property
    def expr(self) -> Expr:
        """The traced program."""
        return self._entry.traced

    @property
    def simplified(self) -> Expr:
        """The same with less to compute."""
        return self._program.expr

    @property
    def passes(self) -> tuple[tuple[str, Expr], ...]:
        """The name of each pass over the program, and the program after it: down to kernels on the host.

        Examples
        --------
        >>> import fungrad as fg
        >>> lowered = fg.jit(lambda x: x * 2.0 * 3.0).lower(1.0)
        >>> [name for name, _ in lowered.passes][:3]
        ['multiply', 'share', 'dead code']
        """
        return tuple(after_each_pass(self._program.given, Way.KERNELS))

    @property
    def passes_on_device(self) -> tuple[tuple[str, Expr], ...]:
        """The same down to kernels of a GPU."""
        return tuple(after_each_pass(self._program.given, Way.DEVICE))

    @property
    def decisions(self) -> tuple[str, ...]:
        """The decisions about kernels and their reasons, one for each array library the program ran with."""
        return tuple(self._program.decisions)

    @property
    def schedule(self) -> Schedule:
        """Calls, overwriting and releases, step by step."""
        return self._program.schedule

    @property
    def source(self) -> str:
        """The compiled NumPy source: loops and branches first, programs of solvers and custom rules last."""
        return readable(self._program.source)

    @property
    def kernels(self) -> tuple[Any, ...]:
        """Its kernels, one loop each, once it has run a few times and llvmlite is installed; each prints.

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
    def launches(self) -> Any:
        """Its steps on a GPU (`fungrad.compile.launches`)."""
        from fungrad.compile.launches import launches_of
        from fungrad.compile.native import schedule_with_kernels

        return launches_of(*schedule_with_kernels(self._program.expr, (), CUPY))

    @property
    def jaxpr(self) -> Any:
        """The traced program, with the attributes of JAX's ``ClosedJaxpr``."""
        from fungrad.transforms.jaxprs import ClosedJaxpr

        return ClosedJaxpr.of(self.expr, self._entry.captured)

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """Return the traced program as text, whatever the dialect and the notes that are asked for."""
        return str(self.expr)

    def lower(self) -> Lowered:
        """Return this: ``jit(f).trace(*args)`` is lowered already."""
        return self

    def compile(self, compiler_options: Any = None) -> Compiled:
        """Compile now, kernels too; return a function that takes only arguments of these types."""
        self._program.compile_kernels()
        return Compiled(self._jitted, self._entry)


class MemoryAnalysis(NamedTuple):
    """Bytes that a compiled program takes, as far as types tell."""

    argument_size_in_bytes: int
    output_size_in_bytes: int
    temp_size_in_bytes: int
    peak_memory_in_bytes: int
    alias_size_in_bytes: int = 0
    generated_code_size_in_bytes: int = 0


class Compiled(_OfOneType):
    """A function compiled for one type of arguments. Made by ``jit(f).lower(*args).compile()``."""

    def __repr__(self) -> str:
        return f"{self._title()}\n{self.as_text()}".rstrip()

    def as_text(self) -> str:
        """Return the NumPy source that is run."""
        return readable(self._program.source)

    def memory_analysis(self) -> MemoryAnalysis:
        """Return the bytes of arguments, results, temporaries, and of all at the peak.

        Examples
        --------
        >>> import fungrad as fg, numpy as np
        >>> compiled = fg.jit(lambda x: (2 * x) @ x).lower(np.ones(1000)).compile()
        >>> compiled.memory_analysis().temp_size_in_bytes
        8000
        """
        expr = self._entry.traced
        given, made = [sum(t.nbytes for t in ts) for ts in (expr.input_types, expr.output_types)]
        most = peak(self._program.schedule)
        kept = sum(t.nbytes for t in expr.output_types if t.shape)  # in it
        return MemoryAnalysis(given, made, max(most - kept, 0), given + max(most, made))

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
