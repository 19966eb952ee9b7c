"""Primitives that other packages declare as JAX's are: a name, and functions that are its rules.

`Primitive` is such a declaration. What programs hold is a `Foreign`: the declaration with the parameters of one call, as
one of our own primitives, whose rules call the package's. The tables are those of `jax.interpreters`; the modules
`ad`, `batching` and `mlir` of `fungrad.extend` have them under JAX's names.

Design: docs/design/16-composites-and-foreign-primitives.md.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.compile.lower import Program
from fungrad.compile.passes.lowered import Standing
from fungrad.core import primitive as core
from fungrad.core.axes import name_in_batch
from fungrad.core.backend import target_of
from fungrad.core.cached import cached_property
from fungrad.core.errors import ConcretizationError
from fungrad.core.evaluate import inline
from fungrad.core.expr import Expr
from fungrad.core.trace import record_expr
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType, Linear, array_type, float0, type_of
from fungrad.primitives.elementwise import Cast
from fungrad.primitives.shaping import move_axis
from fungrad.transforms.argnums import exactly
from fungrad.transforms.arguments import as_operands
from fungrad.transforms.avals import ShapedArray, UndefinedPrimal, Zero, aval_of

Rule = Callable[..., Any]


def finished(result: Any) -> Any:
    """Return the result of `bind`. Where fungrad stands for another library, it has that library's arrays."""
    return result


primitive_jvps: dict[Primitive, Rule] = {}
primitive_transposes: dict[Primitive, Rule] = {}
primitive_batchers: dict[Primitive, Rule] = {}
axis_primitive_batchers: dict[Primitive, Rule] = {}
fancy_primitive_batchers: dict[Primitive, Rule] = {}
lowerings: dict[Primitive, Rule] = {}
"""Of each primitive the function of arrays that it is, as ``mlir.lower_fun`` has been given it."""


class Primitive:
    """An operation with rules that are given one by one, as JAX's are.

    Parameters
    ----------
    name
        How programs show it.

    Attributes
    ----------
    multiple_results : bool
        Whether rules take and return lists of results. It is False; set it before the rules.

    Notes
    -----
    `bind` applies it: to arrays by what `def_impl` was given; to traced arrays it is recorded, its results being of the types
    that the rule of `def_abstract_eval` gives. Derivatives are in the tables of `fungrad.extend.ad`, batching rules in those of
    `fungrad.extend.batching`. Compiled programs run what `fungrad.extend.mlir.lower_fun` was given, or else that of `def_impl`.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> from fungrad.extend import ad, core
    >>> cube_p = core.Primitive("cube")
    >>> cube_p.def_impl(lambda x, *, scale: scale * x**3) is None
    False
    >>> _ = cube_p.def_abstract_eval(lambda x, *, scale: x)
    >>> ad.defjvp(cube_p, lambda t, x, *, scale: 3 * scale * x**2 * t)
    >>> cube = lambda x: cube_p.bind(x, scale=2.0)
    >>> cube(np.array(2.0)), fg.grad(cube)(2.0), fg.jit(cube)(2.0)
    (np.float64(16.0), np.float64(24.0), np.float64(16.0))
    """

    multiple_results = False
    call_primitive = False
    map_primitive = False

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def def_impl(self, impl: Rule) -> Rule:
        """Set the value rule: a function of arrays, with parameters by keyword."""
        self.impl = impl  # type: ignore[method-assign]
        return impl

    def def_abstract_eval(self, abstract_eval: Rule) -> Rule:
        """Set the type rule: a function of the operands' types, each a `ShapedArray`."""
        self.abstract_eval = lambda *avals, **params: (abstract_eval(*avals, **params), ())  # type: ignore[method-assign]
        return abstract_eval

    def def_effectful_abstract_eval(self, effectful_abstract_eval: Rule) -> Rule:
        """Set the rule for types and effects; a call with effects is not dropped."""
        self.abstract_eval = effectful_abstract_eval  # type: ignore[method-assign]
        return effectful_abstract_eval

    def_effectful_abstract_eval2 = def_effectful_abstract_eval

    def impl(self, *operands: Any, **params: Any) -> Any:
        """Compute it on arrays."""
        lowered = lowerings.get(self)
        if lowered is None:
            raise NotImplementedError(
                f"the primitive `{self.name}` cannot be run: give it a function with def_impl, or register a lowering "
                "made by lower_fun"
            )
        return lowered(*operands, **params)

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> Any:
        """Return the types of results, and the effects."""
        raise NotImplementedError(
            f"the primitive `{self.name}` cannot be traced: give it a function of types with def_abstract_eval"
        )

    def bind(self, *operands: Any, **params: Any) -> Any:
        """Apply it: at once to arrays, by recording it to traced ones."""
        if Tracer not in map(type, operands):
            computed = self.impl(*operands, **params)
            return finished(list(computed) if self.multiple_results else computed)
        operands = tuple(as_operands(operands))
        types = tuple([type_of(x) for x in operands])
        results = core.bind(Foreign(self, Params(params), types), operands)
        return list(results) if self.multiple_results else results[0]

    def bind_with_trace(self, trace: Any, operands: Sequence[Any], *params: Any) -> Any:
        """Apply it by an interpreter, a `jax.core.Trace`; of `params` the last are its parameters."""
        return trace.process_primitive(self, operands, params[-1])

    def get_bind_params(self, params: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the functions, none, and the parameters that `bind` takes for those of an equation."""
        return [], dict(params)


class CallPrimitive(Primitive):
    """A primitive that calls a function; `Primitive` in all else.

    Examples
    --------
    >>> CallPrimitive("call").multiple_results
    True
    """

    multiple_results = True
    call_primitive = True


class Params(Mapping[str, Any]):
    """The parameters of a call: equal to others by their values where these can be compared and hashed."""

    __slots__ = ("_given", "_key")

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = dict(given)
        self._key: Hashable = self
        values = tuple(self._given.items())
        try:
            hash(values)
        except TypeError:
            return
        self._key = (values, exactly(values))

    def __getitem__(self, name: str) -> Any:
        return self._given[name]

    def __iter__(self) -> Any:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def __eq__(self, other: object) -> bool:
        if type(other) is not Params or self._key is self or other._key is other:
            return self is other
        return self._key == other._key

    def __hash__(self) -> int:
        return id(self) if self._key is self else hash(self._key)

    def __repr__(self) -> str:
        return " ".join(f"{k}={str(v)[:40]}" for k, v in self._given.items())

    def __reduce__(self) -> tuple[Any, ...]:
        return Params, (self._given,)


class AxisData(NamedTuple):
    """The axis that a batching rule is for, as rules in `fancy_primitive_batchers` are given it.

    Examples
    --------
    >>> AxisData("i", 3)
    AxisData(name='i', size=3, spmd_name=None, explicit_mesh_axis=None)
    """

    name: Hashable
    size: int
    spmd_name: Any = None
    explicit_mesh_axis: Any = None


@core.primitive
class Foreign(Standing):
    """A call of another package's primitive: with parameters, for operands of some types."""

    of: Primitive
    params: Params
    types: tuple[ArrayType, ...]

    multiple_results = True
    joint_jvp = True
    remembered = False
    holds_programs = (
        True  # it may: whether it can be run for many steps at once, its rules alone know
    )

    @property
    def name(self) -> str:
        """The name that the package gave it."""
        return self.of.name

    @cached_property
    def effect(self) -> bool:
        """Whether the rule for types says that it has effects."""
        return bool(self._evaluated(self.types)[1])

    @cached_property
    def _known(self) -> dict[Any, Any]:
        """Earlier answers of rules: result types by operand types, batched results by batched operands."""
        return {}

    def _evaluated(self, types: tuple[ArrayType, ...]) -> tuple[tuple[ArrayType, ...], Any]:
        known = self._known.get(types)
        if known is None:
            avals, effects = self.of.abstract_eval(*map(aval_of, types), **self.params)
            avals = avals if self.of.multiple_results else [avals]
            results = [array_type(tuple(a.shape), np.dtype(a.dtype), _weak(a)) for a in avals]
            known = self._known.setdefault(types, (tuple(results), effects))
        return known  # type: ignore[no-any-return]

    def infer(self, types: tuple[ArrayType, ...]) -> tuple[ArrayType, ...]:
        return self._evaluated(tuple(types))[0]

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        return self.infer(types)

    def impl(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        types = tuple([type_of(x) for x in operands])
        expected = self.infer(types)
        program = self._lowered(types)
        if program is not None:
            return tuple(program(*operands))
        results = self._checked(self.of.impl(*operands, **self.params), expected)
        return tuple([np.asarray(x) for x in results] if target_of(xp).on_host else results)

    def _checked(self, returned: Any, expected: Sequence[ArrayType]) -> tuple[Any, ...]:
        """Return results as a tuple, if they are of the types that the rule for these says."""
        results = tuple(returned) if self.of.multiple_results else (returned,)
        for t, x in zip(expected, map(type_of, results), strict=True):
            if (t.shape, t.dtype) != (x.shape, x.dtype):
                raise TypeError(
                    f"the primitive `{self.name}` gave an array of type {x}, and its rule for types says {t}"
                )
        return results

    def lowered(self, types: Sequence[ArrayType]) -> Expr | None:
        program = None if self.effect else self._lowered(tuple(types))
        return None if program is None else program.given

    def _lowered(self, types: tuple[ArrayType, ...]) -> Program | None:
        """Return the program that it is on operands of some types; None if it is run by `def_impl`'s function."""
        key = ("lowered", types)
        if key not in self._known:
            self._known.setdefault(key, self._program(types) if self.of in lowerings else None)
        return self._known[key]  # type: ignore[no-any-return]

    def _program(self, types: tuple[ArrayType, ...]) -> Program | None:
        expected = self.infer(types)

        def function(*operands: Any) -> Sequence[Any]:
            results = self._checked(lowerings[self.of](*operands, **self.params), expected)
            return [
                x if type_of(x) is t else Cast(t.dtype, t.weak)(x)
                for x, t in zip(results, expected, strict=True)
            ]

        try:
            expr = inline(record_expr(self.name, function, types))
        except ConcretizationError:
            if "impl" in vars(self.of):
                return None  # that may ask for values
            raise
        if expr.captured:
            raise TypeError(
                f"the primitive `{self.name}` closes over a traced array: pass it as an operand"
            )
        return Program(expr)

    def push(
        self,
        tangents: tuple[Any, ...],
        operands: tuple[Any, ...],
        known: Sequence[Any] | None,
        joint: bool,
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        rule = primitive_jvps.get(self.of)
        if rule is None:
            raise self.missing("jvp")
        given = [
            Zero.from_primal_value(x) if t is None else t
            for x, t in zip(operands, tangents, strict=True)
        ]
        results, moved = rule(tuple(operands), tuple(given), **self.params)
        if not self.of.multiple_results:
            results, moved = (results,), (moved,)
        return tuple(results) if known is None else known, [_or_none(t) for t in moved]

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        rule = primitive_transposes.get(self.of)
        if rule is None:
            raise self.missing("transpose")
        types = self.infer(tuple([type_of(x) for x in operands]))
        cts = [Zero(aval_of(t)) if x is None else x for x, t in zip(ct, types, strict=True)]
        given = [UndefinedPrimal(aval_of(x.type)) if isinstance(x, Linear) else x for x in operands]
        operand_cts = rule(cts if self.of.multiple_results else cts[0], *given, **self.params)
        if operand_cts is Zero or isinstance(operand_cts, Zero):
            return (None,) * len(operands)
        return tuple([_or_none(x) for x in operand_cts])

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> Any:
        dims = tuple([0 if b else None for b in batched])
        name, of, params = name_in_batch.get(), self.of, self.params
        if of in fancy_primitive_batchers:
            pair = fancy_primitive_batchers[of](AxisData(name, size), operands, dims, **params)
        elif of in axis_primitive_batchers:
            pair = axis_primitive_batchers[of](size, name, None, operands, dims, **params)
        elif of in primitive_batchers:
            pair = primitive_batchers[of](operands, dims, **params)
        else:
            raise self.missing("batch")
        results, out_dims = pair if of.multiple_results else ([pair[0]], [pair[1]])
        if not isinstance(out_dims, (tuple, list)):
            out_dims = [out_dims] * len(results)
        self._known[batched] = [d is not None for d in out_dims]
        return tuple(
            [
                x if d is None else move_axis(x, d % len(x.shape), 0)
                for x, d in zip(results, out_dims, strict=True)
            ]
        )

    def varies(self, batched: tuple[bool, ...], exactly: bool = False) -> Sequence[bool] | None:
        if exactly:
            return None  # any result may depend on any operand, whatever has a batch axis
        batched = tuple(batched)
        if batched not in self._known:
            types = [
                t.update(shape=(2, *t.shape)) if b else t
                for t, b in zip(self.types, batched, strict=True)
            ]
            record_expr(self.name, functools.partial(self.batch, 2, batched), types)
        return self._known[batched]  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        """Show as our own."""
        return f"{self.name}[{self.params!r}]" if self.params else self.name


def _weak(aval: Any) -> bool:
    return bool(getattr(aval, "weak_type", False))


def _or_none(t: Any) -> Any:
    """Return a tangent or cotangent, None if it is zero."""
    zero = t is None or t is Zero or isinstance(t, Zero) or getattr(t, "dtype", None) == float0
    return None if zero else t
