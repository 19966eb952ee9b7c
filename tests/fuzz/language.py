"""Random programs as text: statements of Python, drawn from templates and tried on NumPy arrays one by one.

A statement stays if NumPy runs it and all its numbers are moderate, so no template has to know what fits where.
Comments at the end of a statement say what it means for the checks:

- ``# value``: it looks at values, which there are not under `jit` and `vmap`;
- ``# rounding``: a compiled program may round it in another way;
- ``# forward``, ``# reverse``: it has derivatives in that mode alone;
- ``# derivative``: there is none that differences could find.
"""

from __future__ import annotations

import functools
import random
import re
import textwrap
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

Arrays = tuple[np.ndarray, ...]


class Program(NamedTuple):
    """A function of arrays, as text."""

    arguments: tuple[str, ...]
    """Such as ``x0 = draw(0, (2, 3), 'f8')``."""
    captured: tuple[str, ...]
    """Statements that run before, outside of the function."""
    lines: tuple[str, ...]
    results: tuple[str, ...]
    plain: bool = False
    """Whether the function calls NumPy's own functions."""
    ways: tuple[str, ...] = ()
    """How it is checked, beside the ways in which all programs are."""

    def has(self, mark: str) -> bool:
        """Whether a statement has the comment ``# mark``."""
        return any(f"# {mark}" in line for line in self.lines)


def draw(seed: int, shape: tuple[int, ...], dtype: str) -> Any:
    """Return random numbers of moderate size, none near zero."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.random(shape) < 0.5
    if kind.kind in "iu":
        return rng.integers(0 if kind.kind == "u" else -3, 4, shape).astype(kind)[()]
    x = rng.uniform(0.2, 1.3, shape) * rng.choice([-1.0, 1.0], shape)
    if kind.kind == "c":
        x = x + 1j * rng.uniform(0.2, 1.3, shape) * rng.choice([-1.0, 1.0], shape)
    x = np.asarray(x).astype(kind)
    return x if shape else x[()]


def text(program: Program) -> str:
    """Return a function that makes the function and the arrays that it closes over."""
    names = ", ".join(line.split(" = ")[0] for line in program.arguments)
    out = [*program.captured, f"def f({names}):"]
    out += [textwrap.indent(line, "    ") for line in program.lines]
    out.append(f"    return {', '.join(program.results)},")
    body = textwrap.indent("\n".join(out), "    ")
    captured = ", ".join(dict.fromkeys(assigned(program.captured)))
    return f"def make():\n{body}\n    return f, [{captured}]\n"


def readable(program: Program) -> str:
    """Return the whole program, arguments first."""
    return "\n".join(program.arguments) + "\n" + text(program)


_NAME = re.compile(r"^(\w+) = ")


def assigned(lines: Sequence[str]) -> Iterator[str]:
    """Yield the names that statements assign to at their outermost level."""
    for line in lines:
        for part in line.splitlines():
            found = _NAME.match(part)
            if found:
                yield found[1]


@functools.lru_cache(256)
def _code(source: str) -> Any:
    return compile(source, f"<program {zlib.crc32(source.encode()):x}>", "exec")


def build(
    program: Program, names: Mapping[str, Any]
) -> tuple[Callable[..., Any], list[np.ndarray]]:
    """Return the function, where `names` mean what they say, and the arrays that it closes over, made anew."""
    scope = {**names, "draw": draw}
    exec(_code(text(program)), scope)
    made: tuple[Callable[..., Any], list[np.ndarray]] = scope["make"]()
    return made


def arguments(program: Program) -> list[Any]:
    """Return the values of the arguments."""
    scope: dict[str, Any] = {"draw": draw, "np": np}
    exec("\n".join(program.arguments), scope)
    return [scope[name] for name in assigned(program.arguments)]


def with_zeros(program: Program, zero: str) -> Program:
    """Return the program in which statements marked ``# rounding`` give `zero`, "0.0" or "-0.0", for both zeros."""
    lines = []
    for line in program.lines:
        lines.append(line)
        if "# rounding" in line:
            lines += [
                f"if {v}.dtype.kind == 'f': {v} = np.where({v} == 0, {v}.dtype.type({zero}), {v})[()]"
                for v in assigned([line])
            ]
    return program._replace(lines=tuple(lines))


# Drawing


Template = str | Callable[["Writer"], str]

MODERATE = 1e4


class Writer:
    """Writes a program statement by statement, and runs it on NumPy arrays as it does so."""

    def __init__(self, seed: int, names: Mapping[str, Any]) -> None:
        self.rng = random.Random(seed)
        self.names = names
        self.lines: list[str] = []
        self.before: list[str] = []
        self.scope: dict[str, Any] = {}
        self.count = 0

    def begin(self, arguments: Sequence[str], captured: Sequence[str]) -> None:
        """Start with arguments and what the function closes over."""
        self.arguments, self.captured = tuple(arguments), tuple(captured)
        self.replay()

    def replay(self) -> None:
        """Run all statements again, from the start."""
        self.scope = {**self.names, "draw": draw}
        with np.errstate(all="raise", under="ignore"):
            exec("\n".join([*self.arguments, *self.captured, *self.lines]), self.scope)
        self.arrays = {k: v for k, v in self.scope.items() if k not in self.names and is_data(v)}

    def pick(self, fits: Callable[[Any], bool] = lambda x: True, large: bool = False) -> str:
        """Return the name of an array, rather one of the last; of a large one only if asked."""
        names = [k for k, v in self.arrays.items() if (v.size < 300 or large) and fits(v)]
        if not names:
            raise LookupError
        n = len(names)
        return names[max(self.rng.randrange(n), self.rng.randrange(n))]

    def named(self, first: str, fits: Callable[[Any], bool] = lambda x: True) -> str:
        """Return the name of an array whose name begins so."""
        names = [k for k, v in self.arrays.items() if k[0] == first and fits(v)]
        if not names:
            raise LookupError
        return self.rng.choice(names)

    def fill(self, template: Template) -> str:
        """Return a template with its holes filled."""
        if not isinstance(template, str):
            return template(self)
        return template.format_map(_Holes(self))

    def try_(self, templates: Sequence[Template], tries: int = 12) -> bool:
        """Add a statement of one of the templates, if one is found that can be run."""
        for _ in range(tries):
            try:
                line = self.fill(self.rng.choice(templates))
            except LookupError:
                continue
            if self.add(line):
                return True
        return False

    def add(self, line: str) -> bool:
        """Add a statement if it can be run."""
        new = set(assigned([line]))
        try:
            with np.errstate(all="raise", under="ignore"):
                exec(line, self.scope)
            data = {k: self.scope[k] for k in new if is_data(self.scope.get(k))}
            changes = not new or "\n" in line
            good = all(map(moderate, (data | self.arrays if changes else data).values()))
            if good and (data or changes):
                self.arrays = {k: self.scope[k] for k in self.arrays} | data
                self.lines.append(line)
                return True
        except Exception:
            changes = not new
        if changes:
            self.replay()
        else:  # nothing was written to: forget the names
            for name in new - self.arrays.keys():
                self.scope.pop(name, None)
        return False

    def fresh(self) -> str:
        """Return a new name."""
        self.count += 1
        return f"v{self.count}"


class _Holes(dict[str, Any]):
    """What may stand in braces in a template; the same hole is filled once."""

    def __init__(self, writer: Writer) -> None:
        super().__init__()
        self.writer = writer

    def __missing__(self, key: str) -> str:
        rng, pick = self.writer.rng, self.writer.pick
        kind = key.rstrip("0123456789")
        if kind in ("a", "b", "c"):
            found = pick(lambda x: np.ndim(x) > 0) if rng.random() < 0.8 else pick()
        elif kind == "f":
            found = pick(lambda x: np.asarray(x).dtype.kind in "fc")
        elif kind == "r":
            found = pick(lambda x: np.asarray(x).dtype.kind == "f")
        elif kind == "m":
            found = pick(lambda x: np.ndim(x) == 2)
        elif kind == "n":
            found = pick(lambda x: np.asarray(x).dtype.kind in "iu")
        elif kind == "p":
            found = pick(lambda x: np.asarray(x).dtype.kind == "b")
        elif kind == "L":
            found = pick(lambda x: np.size(x) > 1000, large=True)
        elif kind == "w":
            found = self.writer.named("v")
        elif kind == "u":
            found = self.writer.named("v", writeable)
        elif kind == "B":
            found = self.writer.named("b")
        elif kind == "v":
            found = self.writer.fresh()
        elif kind == "i":
            found = str(rng.randrange(-2, 3))
        elif kind == "k":
            found = str(rng.randrange(2))
        elif kind == "s":
            found = rng.choice(["0.5", "-1.25", "2.0", "2", "0.75", "1.5"])
        elif kind == "ax":
            found = rng.choice(["None", "0", "-1", "1", "0", "-1"])
        elif kind == "axis":
            found = rng.choice(["0", "-1", "1"])
        elif kind == "bool":
            found = rng.choice(["True", "False"])
        else:
            raise KeyError(key)
        self[key] = found
        return found


def is_data(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "fcbiu"


def writeable(x: Any) -> bool:
    """Whether it can be written to; results of `broadcast_arrays` warn that they will not be."""
    try:
        return isinstance(x, np.ndarray) and x.flags.writeable
    except FutureWarning:
        return False


def moderate(x: Any) -> bool:
    """Whether all numbers are finite and not too large."""
    if x.dtype.kind == "b":
        return True
    if x.size > 20_000:
        return False
    large = 100.0 if x.dtype.itemsize <= 2 else MODERATE
    return bool(np.all(np.abs(x) < large))  # NaN is not


# Shrinking


def smaller(program: Program) -> Iterator[Program]:
    """Yield programs with fewer statements, results and ways, and with simpler statements."""
    lines = program.lines
    for size in (len(lines) // 2, len(lines) // 4, 1):
        if size:
            for i in range(len(lines) - size, -1, -1):
                yield program._replace(lines=lines[:i] + lines[i + size :])
    for name in dict.fromkeys(assigned(lines)):
        if len(program.results) > 1 or name < program.results[0]:
            yield program._replace(results=(name,))
    if len(program.results) > 1:
        for i in range(len(program.results)):
            yield program._replace(results=program.results[i : i + 1])
    for i in range(len(program.captured)):
        yield program._replace(captured=program.captured[:i] + program.captured[i + 1 :])
    for i, line in enumerate(lines):
        simpler = list(_simpler(line, program, i))
        for other in simpler:
            yield program._replace(lines=lines[:i] + other + lines[i + 1 :])
    for i in range(len(program.arguments)):
        if len(program.arguments) > 1:
            yield program._replace(arguments=program.arguments[:i] + program.arguments[i + 1 :])
    for i in range(len(program.ways)):
        if len(program.ways) > 1:
            yield program._replace(ways=program.ways[:i] + program.ways[i + 1 :])


def _simpler(line: str, program: Program, i: int) -> Iterator[tuple[str, ...]]:
    names = [a.split(" = ")[0] for a in program.arguments]
    parts = line.splitlines()
    if len(parts) > 1:  # the body alone
        body = textwrap.dedent("\n".join(parts[1:]))
        yield (body,)
        for k in range(1, len(parts)):
            yield ("\n".join(parts[:k] + parts[k + 1 :]),)
    earlier = [*names, *assigned(program.lines[:i])]
    own = set(assigned([line]))
    for name in dict.fromkeys(re.findall(r"\bv\d+\b", line)):
        if name in own:
            continue
        for other in earlier:
            if other == name:
                break
            yield (re.sub(rf"\b{name}\b", other, line),)
