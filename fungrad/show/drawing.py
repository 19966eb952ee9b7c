"""The computational graph of a function, drawn."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fungrad import Expr, tree
from fungrad.core.errors import in_derivative
from fungrad.extend.packages import api_boundary
from fungrad.extend.programs import (
    Calling,
    InDerivative,
    Source,
    check_callable,
    inline,
    name_of,
    simplify,
)
from fungrad.extend.trees import paths_of
from fungrad.rewrite.reverse import Joint, joint_expr
from fungrad.show.dot import dot_of
from fungrad.show.labels import called
from fungrad.show.model import Scene
from fungrad.show.pictures import Picture
from fungrad.show.scenes import Shown, scene_of
from fungrad.show.svg import svg_of
from fungrad.transforms.abstract import trace_abstractly
from fungrad.transforms.argnums import parameters_of, positional_names
from fungrad.tree_util import KeyPath, SequenceKey, keystr


class Graph(Picture):
    """A drawing of a program. Made by ``graph(f)(*args)``; a notebook shows it.

    Attributes
    ----------
    name
        What it is of.
    expr
        The program that is drawn.
    scene
        What is drawn: nodes, edges, frames.
    notes
        What has been folded, if anything has.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> drawing = fg.show.graph(lambda x: np.sum(np.sin(x)))(np.ones(3))
    >>> drawing
    <graph of <lambda>: 2 equations>
    >>> [node.name for node in drawing.scene.nodes]
    ['x', 'sin', 'reduce_sum', 'result']
    """

    _ends = ".svg, .png or .dot"

    def __init__(self, name: str, expr: Expr, scene: Scene) -> None:
        self.name, self.expr, self.scene = name, expr, scene
        self.notes = [note for one in _scenes(scene) for note in one.notes]

    @property
    def _head(self) -> str:
        count = len(self.expr.equations)
        return f"{self.name}: {count:,} equation{'s' * (count != 1)}"

    def _drawn(self, dark: bool) -> str:
        return svg_of(self.scene, self._head, self.notes, dark)

    @functools.cached_property
    def dot(self) -> str:
        """The drawing in the language of Graphviz."""
        return dot_of(self.scene, self._head)

    def _writers(self) -> dict[str, Callable[[], bytes]]:
        return {**super()._writers(), ".dot": self.dot.encode, ".gv": self.dot.encode}

    def __repr__(self) -> str:
        return f"<graph of {self._head}>"


def graph(
    fun: Callable[..., Any],
    *,
    backward: bool = False,
    kernels: bool = True,
    simplified: bool = True,
    depth: int = 3,
    most: int = 500,
) -> Callable[..., Graph]:
    """Return the function that draws the program of `fun` for arguments of given types.

    Parameters
    ----------
    fun
        A function of arrays, numbers and pytrees of them.
    backward
        Whether to draw, on the right of that, how cotangents of the results are pulled back to the arguments; that of a loss, a
        result which is one real number, is 1.
    kernels
        Whether to show what `jit` computes in one loop of machine code where llvmlite is installed: in a frame, or, beside a backward pass, by a
        bar and a number.
    simplified
        Whether to draw the program that is compiled, or, if false, that which is recorded, with all that is computed twice or for
        nothing.
    depth
        How many levels of programs within programs are drawn: what loops, branches and calls run.
    most
        How many nodes are drawn, about. Of a longer program, what is within a `named_scope` is one node, what is repeated is drawn once, and what one
        line of yours computes, or one function, is one node. The drawing says so. Folded nodes name the kernels that compute them.

    Returns
    -------
    Callable
        Takes what `fun` takes, or `ShapeDtypeStruct` in place of arrays; returns a `Graph`, which notebooks show.

    Raises
    ------
    TypeError
        If `fun` is no function.
    ValueError
        If `most` is not positive or `depth` is negative.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> def loss(w, x):
    ...     return np.sum(np.tanh(x @ w) ** 2)
    >>> drawing = fg.show.graph(loss, backward=True)(np.ones(2), np.ones((3, 2)))
    >>> drawing
    <graph of loss, forward and backward: 12 equations>
    >>> drawing.svg.startswith("<svg")
    True
    """
    check_callable(fun, "graph")
    if most < 1:
        raise ValueError(
            f"graph: most is the largest number of nodes to draw, at least 1; got {most}"
        )
    if depth < 0:
        raise ValueError(f"graph: depth is a number of levels, 0 or more; got {depth}")

    @api_boundary
    def drawn(*args: Any, **kwargs: Any) -> Graph:
        title = called(fun)
        traced = trace_abstractly(f"graph({name_of(fun)})", fun, args, kwargs)
        inputs = [f"captured {i}" for i in range(traced.expr.captured)]
        inputs += argument_names(fun, args, kwargs)
        outputs = [f"result{keystr(path)}" for path in paths_of(traced.structure)]
        expr = _entered(traced.expr)
        if backward:
            title += ", forward and backward"
            shown = _with_backward(expr, inputs, outputs, simplified)
        else:
            expr = simplify(expr) if simplified else expr
            sources = [*expr.sources] or [None] * len(expr.equations)
            shown = Shown("", expr, inputs, outputs, sources)
        return Graph(title, shown.expr, scene_of(shown, most, depth, kernels))

    return drawn


def argument_names(fun: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[str]:
    """Return names of the leaves of arguments: the parameter, and the path within it."""
    parameters = parameters_of(fun) or []
    names = positional_names(parameters)
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "argument")

    def name(path: KeyPath) -> str:
        first, which, *inner = path
        if first == SequenceKey(1):
            return f"{getattr(which, 'key', which)}{keystr(tuple(inner))}"
        i = getattr(which, "idx", 0)
        start = names[i] if i < len(names) else f"{rest}[{i - len(names)}]"
        return f"{start}{keystr(tuple(inner))}"

    return [name(path) for path in paths_of(tree.structure((args, kwargs)))]


def _entered(expr: Expr) -> Expr:
    """Return the program that a program does nothing but call, as that of a jitted function does."""
    while len(expr.equations) == 1:
        primitive, inputs, outputs = expr.equations[0]
        if not isinstance(primitive, Calling) or (inputs, outputs) != (expr.inputs, expr.outputs):
            break
        expr = primitive.callee
    return expr


def _with_backward(
    expr: Expr, inputs: Sequence[str], outputs: Sequence[str], simplified: bool
) -> Shown:
    """Return a program with its pullback."""
    expr = inline(expr)
    places = [*expr.sources] or [None] * len(expr.equations)
    # Where an equation was recorded is its number here: so those of the pullback say which one they go back through.
    numbered = dataclasses.replace(expr, sources=tuple(range(len(expr.equations))))
    flags = [type_.inexact for type_ in expr.input_types]
    joint = joint_expr(numbered, flags)
    program, anchors = _numbered(joint, places)
    known: dict[int, Any] = {}
    (only,) = expr.output_types if len(expr.outputs) == 1 else (None,)
    if only is not None and not only.shape and only.dtype.kind == "f":
        known = {v: np.asarray(1, only.dtype)[()] for v in joint.seeds if v is not None}
    seeds = {v: i for i, v in reversed([*enumerate(joint.seeds)]) if v is not None}
    given = [v for v in program.inputs[len(expr.inputs) :] if v not in known]
    program = dataclasses.replace(
        program,
        inputs=(*expr.inputs, *given),
        constants={**program.constants, **known},
    )
    program = simplify(program) if simplified else program
    wrt = [i for i, reached in enumerate(joint.reached) if reached]
    return Shown(
        "",
        program,
        [*inputs, *[f"cotangent of {outputs[seeds[v]]}" for v in given]],
        [*outputs, *[f"{'gradient by' if known else 'cotangent of'} {inputs[i]}" for i in wrt]],
        [_placed(source, places) for source in program.sources],
        [None if (i := _number(source)) is None else anchors[i] for source in program.sources],
        [seeds[v] for v in given],
        wrt,
    )


def _numbered(joint: Joint, places: list[Source | None]) -> tuple[Expr, list[int]]:
    """Return the program with numbered sources, and for each number that of its origin.

    What the user's own rules and derivatives of loops compute has places of its own: they are added to `places`.
    """
    anchors = [*range(len(places))]
    sources: list[Source | None] = []
    last = -1
    for k, source in enumerate(joint.program.sources):
        number = _number(source)
        if k >= joint.forward:
            last = _number(joint.origins[k - joint.forward]) or 0
        elif number is not None:
            last = number
        if number is None:
            # On the way forward, it is part of what comes after the last equation that is known.
            anchor = last if k >= joint.forward else min(last + 1, len(anchors) - 1)
            number = len(places)
            places.append(source.source if isinstance(source, InDerivative) else source)
            anchors.append(anchors[anchor])
        back = k >= joint.forward
        made = back or isinstance(source, InDerivative)
        sources.append(InDerivative(number, back) if made else number)
    return dataclasses.replace(joint.program, sources=tuple(sources)), anchors


def _number(source: Source | None) -> int | None:
    origin = source.source if isinstance(source, InDerivative) else source
    return origin if isinstance(origin, int) else None


def _placed(source: Source | None, places: Sequence[Source | None]) -> Source | None:
    """Return where an equation was recorded, of its number."""
    number = _number(source)
    place = source if number is None else places[number]
    return in_derivative(place, source.backward) if isinstance(source, InDerivative) else place


def _scenes(scene: Scene) -> list[Scene]:
    """Return a scene and those in it."""
    scenes = [scene]
    for one in scenes:  # it grows
        scenes += [body for node in one.nodes for body in node.bodies]
    return scenes
