"""Every rule of every primitive: the rows of tests/samples through the checks of tests/check.py."""

import dataclasses
import functools
import importlib
import itertools
import pkgutil
import sys
from collections.abc import Iterable, Sequence

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
import fungrad.primitives
from fungrad.core.primitive import Primitive, primitive
from fungrad.core.types import ArrayType, array_type, type_of
from fungrad.primitives.collectives import Collective
from fungrad.primitives.ranks import Overlapping
from fungrad.primitives.ufunc import Elementwise, Function, elementwise
from tests.backends.fake_cupy import make_module, tells_of_lack
from tests.check import CHECKS, check_backend, checks_of, linear_groups
from tests.folding import run_each
from tests.samples import modules, rows
from tests.samples.row import Sample, integers, reals

ROWS = rows()


@pytest.mark.whole
@pytest.mark.parametrize("sample", ROWS, ids=str)
def test_rules(sample, subtests):
    run_each(subtests, ((x, functools.partial(CHECKS[x], sample)) for x in checks_of(sample)))


STAND_IN = make_module()


@pytest.mark.parametrize("sample", ROWS, ids=str)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_backend(sample, xp, monkeypatch):
    """CuPy against NumPy; without --backend=cupy, a stand-in that is as strict on types."""
    if xp is np:
        monkeypatch.setitem(sys.modules, "cupy", STAND_IN)
        xp = STAND_IN
    try:
        check_backend(sample, xp)
    except (AttributeError, NotImplementedError) as error:
        if not tells_of_lack(error):
            raise


def test_names_of_rows_are_unique():
    names = [str(sample) for sample in ROWS]
    assert [n for n in names if names.count(n) > 1] == []


# The registry


def registered() -> list[type[Primitive] | Primitive]:
    """Return every concrete primitive class, and every entry of the elementwise table.

    Collectives are left out: outside of a named axis they compute nothing that could be compared. Their
    rules are checked in tests/lax/test_collectives.py and tests/distributed, which have tables of their own.
    """
    found: dict[int, type[Primitive] | Primitive] = {}
    for info in pkgutil.walk_packages(fungrad.primitives.__path__, "fungrad.primitives."):
        for value in vars(importlib.import_module(info.name)).values():
            if isinstance(value, Function) or (is_concrete(value) and value is not Function):
                found[id(value)] = value
    across = (Collective, Overlapping)
    return [d for d in found.values() if not (is_concrete(d) and issubclass(d, across))]


def is_concrete(value: object) -> bool:
    """Whether `value` is a class declared with `@primitive`, and no family of such."""
    declared = isinstance(value, type) and issubclass(value, Primitive)
    return declared and "__dataclass_params__" in vars(value) and "is_family" not in vars(value)


def rows_of(declared: type[Primitive] | Primitive, samples: Iterable[Sample]) -> list[Sample]:
    if isinstance(declared, Primitive):
        return [s for s in samples if s.primitive is declared]
    return [s for s in samples if type(s.primitive) is declared]


def missing_rules(instance: Primitive) -> set[str]:
    """Return the rules among jvp, transpose and batch that a primitive should have and has not."""

    def overrides(rule: str) -> bool:
        return getattr(type(instance), rule) is not getattr(Primitive, rule)

    linear = instance.multilinear or instance.linear is not None
    has_jvp, has_transpose = overrides("jvp"), overrides("transpose")
    if isinstance(instance, Function):
        has_jvp, has_transpose = bool(instance.partials), instance.transposes is not None
    missing = set()
    if instance.differentiable:
        if not has_jvp and not linear:
            missing.add("jvp")
        if linear and not has_transpose:
            missing.add("transpose")
    if not overrides("batch"):
        missing.add("batch")
    return missing


def problems(
    declared: Iterable[type[Primitive] | Primitive], samples: Sequence[Sample]
) -> list[str]:
    """Return what the table of rows says of the declared primitives that is not so."""
    found = []
    for d in declared:
        name = d.name if isinstance(d, Primitive) else d.__name__
        mine = rows_of(d, samples)
        if not mine:
            found.append(f"{name} has no row in tests/samples")
            continue
        gaps = frozenset().union(*[s.gaps for s in mine])
        missing = set().union(*[missing_rules(s.primitive) for s in mine])
        if undeclared := missing - gaps:
            found.append(f"{name} lacks {sorted(undeclared)}, which no row declares in `gaps`")
        checked = {name for s in mine for name in checks_of(s)}
        differentiable = any(s.primitive.differentiable for s in mine)
        if differentiable and not {"jvp2", "jvp"} & (checked | gaps):
            found.append(f"{name} is differentiable, but no row has operands to differentiate by")
        declares_linear = any(
            s.primitive.differentiable
            and (s.primitive.multilinear or s.primitive.linear is not None)
            for s in mine
        )
        if declares_linear and "transpose" not in gaps and not any(map(linear_groups, mine)):
            found.append(f"{name} is linear, but no row checks its transpose")
    return found


def test_every_row_is_in_the_table_of_its_module():
    """A row that its module does not name in `ROWS` would be checked by nothing."""
    counted = set(map(id, ROWS))
    strays = [
        f"{module.__name__}.{name}: {row}"
        for module in modules()
        for name, values in vars(module).items()
        for row in (values if isinstance(values, list | tuple) else [values])
        if isinstance(row, Sample) and id(row) not in counted
    ]
    assert strays == []


def test_every_primitive_has_its_rows():
    declared = registered()
    assert len(declared) > 100
    assert problems(declared, ROWS) == []


@primitive
class Shy(Primitive):
    """A primitive of no module: it has `impl` and `abstract_eval` only."""

    def abstract_eval(self, x):
        return x

    def impl(self, xp, x):
        return xp.sin(x)


@primitive
class Halved(Elementwise):
    """A linear primitive without a transpose."""

    linear = (0,)

    def result_dtype(self, *dtypes):
        return dtypes[0]

    def impl(self, xp, x):
        return x / 2


SHY, HALVED = Sample(Shy(), (reals(2),), np.sin), Sample(Halved(), (reals(2),), lambda x: 0.5 * x)


@pytest.mark.parametrize(
    ("samples", "problem"),
    [
        ([], ["Shy has no row in tests/samples"]),
        ([SHY], ["Shy lacks ['batch', 'jvp'], which no row declares in `gaps`"]),
        (
            [dataclasses.replace(SHY, gaps=frozenset(["batch"]))],
            ["Shy lacks ['jvp'], which no row declares in `gaps`"],
        ),
        ([dataclasses.replace(SHY, gaps=frozenset(["batch", "jvp"]))], []),
    ],
)
def test_a_primitive_without_a_row_or_with_an_undeclared_gap_fails(samples, problem):
    assert problems([Shy], [*ROWS, *samples]) == problem


def test_a_linear_primitive_without_a_transpose_fails():
    assert problems([Halved], [HALVED]) == [
        "Halved lacks ['transpose'], which no row declares in `gaps`"
    ]
    assert problems([Halved], [dataclasses.replace(HALVED, gaps=frozenset(["transpose"]))]) == []
    ints = dataclasses.replace(HALVED, operands=(integers(2),))
    assert "Halved is linear, but no row checks its transpose" in problems([Halved], [ints])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "NumPy has no function 'twofold'.*function=lambda xp, .*dtype=lambda"),
        ({"function": "threefold"}, "NumPy has no function 'threefold'"),
        ({"function": lambda xp, x: 2 * x}, "the function of twofold is no ufunc.*dtype=lambda"),
        ({"function": "flip"}, "the function of twofold is no ufunc"),
    ],
)
def test_an_entry_that_numpy_cannot_tell_of_says_what_it_needs(options, message):
    with pytest.raises(TypeError, match=message):
        elementwise("twofold", lambda t, out, x: t + t, **options)


def test_rules_that_are_missing_are_noticed_by_the_checks():
    for name in ("jvp", "vjp", "batch"):
        with pytest.raises(fungrad.MissingRuleError, match="shy"):
            CHECKS[name](SHY)
    CHECKS["gaps"](dataclasses.replace(SHY, gaps=frozenset(["batch", "jvp"])))


def test_the_registry_finds_new_primitives(monkeypatch):
    monkeypatch.setattr("fungrad.primitives.sorting.Shy", Shy, raising=False)
    assert "Shy has no row in tests/samples" in problems(registered(), ROWS)


# `pull`


def complex_calls() -> list[tuple[Function, tuple[ArrayType, ...]]]:
    """Return the entries of the elementwise table that take complex numbers, with what else they take then.

    Some serve functions of `fungrad.numpy` and `fungrad.scipy`, which promote, and do not check that themselves.
    """
    kinds = [array_type((), np.dtype(d)) for d in (complex, float)]
    found = []
    for declared in registered():
        if not isinstance(declared, Function) or not declared.differentiable:
            continue
        for types in itertools.product(kinds, repeat=len(declared.partials or declared.transposes)):
            try:
                results = declared.infer(types)
                halves = [np.full((), 0.5, t.dtype) for t in types]
                with np.errstate(all="ignore"):
                    fg.jvp(declared, halves, halves)
            except (TypeError, fg.MissingRuleError):
                continue
            if kinds[0] in (*types, *results):
                found.append((declared, types))
    return found


@pytest.mark.parametrize(("function", "types"), complex_calls(), ids=str)
def test_complex_functions_pull_what_their_derivative_transposed_gives(function, types):
    """Whether the derivative is a product with a complex number is declared: `holomorphic`."""
    rng = np.random.default_rng(0)
    for _ in range(3):
        xs = [
            rng.uniform(0.1, 0.9) + (1j * rng.normal() if t.dtype == complex else 0) for t in types
        ]
        paired = lambda *xs: fnp.real(function(*xs) * (1.3 - 0.7j))
        with np.errstate(all="ignore"):
            expected = fg.vjp(paired, *xs)[1](1.0)
            found = fg.grad(paired, tuple(range(len(xs))))(*xs)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


# Facts


TOTAL = [p for p in registered() if isinstance(p, Function) and p.total]
HARD = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 1e-300, 1e50])


def call_with(function, operands, by, *values):
    """Call a function with other values for the operands in `by`."""
    given = dict(zip(by, values, strict=True))
    return function(*[given.get(i, x) for i, x in enumerate(operands)])


@pytest.mark.parametrize("total", TOTAL, ids=str)
def test_a_total_function_has_values_and_derivatives_for_all_finite_numbers(total):
    numbers = [HARD, HARD[:7].astype(int), HARD > 0]
    if total.total is True:
        numbers.append(np.array([0, 1, 1j, -1j, 1 + 1j, 0.5j * np.pi, -2]))
    arity = next(len(s.operands) for s in ROWS if s.primitive is total)
    taken = 0
    for kinds in itertools.product(numbers, repeat=arity):
        operands = [x.ravel() for x in np.meshgrid(*kinds)]
        try:
            total.abstract_eval(*map(type_of, operands))
        except TypeError:
            continue
        taken += 1
        by = [i for i, x in enumerate(operands) if x.dtype.kind in "fc"]
        with np.errstate(divide="raise", invalid="raise", over="ignore"):
            results = [total(*operands)]
            if by and results[0].dtype.kind in "fc":
                of_numbers = functools.partial(call_with, total, operands, by)
                _, pullback = fg.vjp(of_numbers, *[operands[i] for i in by])
                results += pullback(np.ones_like(results[0]))
        assert all(np.isfinite(x.astype(complex)).all() for x in results)
    assert taken
