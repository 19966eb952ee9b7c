"""`fungrad.show.table`: costs that are known, values that are seen, lines that are named."""

import builtins
import importlib
import io
import math
import pkgutil

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax, primitives
from fungrad.core.primitive import Primitive
from fungrad.primitives.cost import _RULES
from fungrad.show.tables import LONGEST, duration, quantity


def rows_of(table, operation):
    return [row for row in table.rows if row.operation == operation]


def test_a_product_of_matrices_is_2mnk():
    table = fg.show.table(lambda a, b: a @ b)(np.ones((5, 7)), np.ones((7, 11)))
    (row,) = table.rows
    assert row.flops == 2 * 5 * 7 * 11
    assert (row.read, row.written) == (8 * (35 + 77), 8 * 55)
    assert (row.shape, row.dtype, row.type) == ((5, 11), np.dtype(float), "float64[5,11]")
    assert (row.minimum, row.maximum, row.runs) == (7.0, 7.0, 1)
    assert row.seconds > 0
    assert table.total.flops == row.flops


@pytest.mark.parametrize(
    ("function", "arguments", "operation", "expected"),
    [
        (lambda x: np.exp(x), (np.ones(10),), "exp", 10),
        (lambda x: fnp.sum(x), (np.ones((3, 4)),), "reduce_sum", 12),
        (lambda x: fnp.max(x), (np.ones((3, 4)),), "reduce_max", 12),
        (lambda x: fnp.reshape(fnp.transpose(x), -1), (np.ones((3, 4)),), "permute", 0),
        (lambda x: fnp.concatenate([x, x]), (np.ones(3),), "concatenate", 0),
        (lambda x: fnp.fft.fft(x), (np.ones(8, complex),), "fft", 5 * 8 * 3),
        (lambda x: fnp.fft.rfft(x), (np.ones(8),), "rfft", 2.5 * 8 * 3),
        (lambda x: fnp.sort(x), (np.ones((2, 8)),), "sort", 16 * 3),
        (lambda a: fnp.linalg.cholesky(a), (np.eye(6),), "cholesky", 72),
        (lambda a: fnp.linalg.inv(a), (np.eye(6),), "inv", 432),
        (lambda a: fnp.linalg.solve(a, a), (np.eye(6),), "solve", 2 / 3 * 216 + 432),
        (lambda a: fnp.linalg.qr(a), (np.ones((9, 3)),), "qr", 4 * 9 * 9 - 4 / 3 * 27),
        (
            lambda x, w: lax.conv(x, w, (1, 1), "VALID"),
            (np.ones((2, 3, 6, 6)), np.ones((4, 3, 3, 3))),
            "convolution",
            2 * (2 * 4 * 4 * 4) * 3 * 9,
        ),
    ],
)
def test_estimates(function, arguments, operation, expected):
    (row,) = rows_of(fg.show.table(function)(*arguments), operation)
    assert row.flops == pytest.approx(expected)


def test_derivatives_of_a_convolution_cost_as_much():
    def loss(x, w):
        return fnp.sum(lax.conv(x, w, (2, 2), "SAME") ** 2)

    table = fg.show.table(fg.grad(loss, (0, 1)))(np.ones((2, 3, 6, 6)), np.ones((4, 3, 3, 3)))
    costs = [row.flops for row in rows_of(table, "convolution")]
    assert len(costs) == 3
    assert len({*costs}) == 1


def test_rules_of_counts_name_classes_of_primitives():
    """Rules are found by the name of the class, or of one that it is made of."""
    for module in pkgutil.iter_modules(primitives.__path__, "fungrad.primitives."):
        importlib.import_module(module.name)
    classes, named = [Primitive], set()
    for cls in classes:
        classes += cls.__subclasses__()
        named |= {cls.__name__ for cls in cls.__mro__ if cls.__module__.startswith("fungrad.prim")}
    assert {*_RULES} <= named


def test_a_nan_is_at_its_line():
    def f(x):
        y = x - 1.0
        z = fnp.log(y)  # the line of the NaN
        return fnp.where(x > 2, z, 0.0)

    with pytest.warns(RuntimeWarning):
        table = fg.show.table(f)(np.array([0.0, 1.0, 3.0]))
    (row,) = [row for row in table.rows if row.nans]
    assert row.operation == "log"
    assert (row.nans, row.infs) == (1, 1)
    assert "# the line of the NaN" in row.line
    assert (row.minimum, row.maximum) == (-math.inf, math.log(2))
    assert table.total.nans == 1


def test_loops_are_summed_over_rounds():
    def f(x):
        def body(carry, row):
            return carry + fnp.sum(row * row), fnp.sin(carry)

        return lax.scan(body, 0.0, x)

    x = np.arange(12.0).reshape(4, 3)
    table = fg.show.table(f)(x)
    (product,) = rows_of(table, "multiply")
    assert (product.runs, product.flops, product.maximum) == (4, 12, 121)
    assert product.within == "scan 0 body"
    (loop,) = rows_of(table, "scan")
    assert (loop.flops, loop.seconds) == (0, 0)
    nested = fg.show.table(lambda x: lax.scan(lambda c, _: (c + f(x)[0], None), 0.0, None, 5))(x)
    assert rows_of(nested, "sin") == []  # whose result nobody reads
    assert sum(row.flops for row in rows_of(nested, "multiply")) in (12, 60)


def test_loops_with_a_condition_and_branches():
    def f(x):
        x = lax.while_loop(lambda x: x < 100, lambda x: x * 2, x)
        return lax.cond(x > 0, fnp.sin, fnp.cos, x)

    table = fg.show.table(f)(3.0)
    (product,) = rows_of(table, "multiply")
    assert product.runs == 6
    assert product.maximum == 192
    assert [row.within for row in rows_of(table, "less")] == ["while 1 cond"]
    assert len(rows_of(table, "sin")) == 1
    assert rows_of(table, "cos") == []


@pytest.mark.parametrize("length", [0, 1, 7])
def test_what_is_run_is_the_program(length):
    """A wrong run would show other extremes than the function has."""

    def f(x):
        def body(carry, row):
            return (carry[0] * row, carry[1] + carry[0]), carry[0]

        return lax.scan(body, (1.0, 0.0), x, reverse=True)[1]

    x = np.linspace(1.0, 2.0, length)
    row = rows_of(fg.show.table(lambda x: f(x) + 0.5)(x), "add")[-1]
    if length:
        assert (row.minimum, row.maximum) == (f(x).min() + 0.5, f(x).max() + 0.5)
    else:
        assert (row.minimum, row.maximum) == (None, None)


def test_effects_happen_once():
    seen = []

    def f(x):
        fg.debug.callback(seen.append, x)
        return x + 1

    fg.show.table(f)(1.0)
    assert seen == [1.0]


def test_sorted_and_grouped():
    table = fg.show.table(lambda x: np.sum(np.sin(x) + np.sin(2 * x)) + 1)(np.ones(10))
    by_time = [row.seconds for row in table.sort("seconds")]
    assert by_time == sorted(by_time, reverse=True)
    assert next(row.operation for row in table.sort("operation", reverse=False)) == "add"
    groups = {row.operation: row for row in table.by("operation")}
    assert (groups["sin"].equations, groups["sin"].flops) == (2, 20)
    assert sum(row.seconds for row in groups.values()) == pytest.approx(table.total.seconds)
    with pytest.raises(ValueError, match="no field 'speed'; they have operation, within, type"):
        table.sort("speed")


def test_text_html_and_rich():
    def f(x):
        return fnp.where(x < 1, x @ x, 0)

    table = fg.show.table(f)(np.ones(3))
    text = str(table)
    assert "dot_general" in text
    assert "total" in text
    assert "where(x < 1" in text
    html = table._repr_html_()
    assert "x &lt; 1" in html
    assert "x < 1" not in html
    Console = pytest.importorskip("rich.console").Console

    console = Console(width=300, record=True, file=io.StringIO())
    console.print(table)
    assert "dot_general" in console.export_text()


def test_without_rich_it_prints_text(monkeypatch, capsys):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.partition(".")[0] == "rich":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    table = fg.show.table(np.sin)(1.0)
    monkeypatch.setattr(builtins, "__import__", without)
    table.print()
    assert capsys.readouterr().out == f"{table}\n"


def test_long_tables_say_how_many_rows_they_leave_out(as_written):
    def f(x):
        for _ in range(150):
            x = fnp.sin(x) + 1
        return x

    table = fg.show.table(f, repeat=1)(1.0)
    hidden = len(table) - LONGEST
    assert hidden > 0
    assert f"{hidden:,} more rows are in .rows" in str(table)
    assert f"{hidden:,} more rows are in .rows" in table._repr_html_()


def test_jitted_functions_static_arguments_and_pytrees():
    @fg.jit
    def f(p, n):
        return {"y": p["w"] * 2 + p["b"]}

    assert fg.show.table(f)({"w": np.ones(3), "b": 1.0}, 3).total.flops == 6
    power = fg.jit(lambda x, n: x**n, static_argnums=1)
    assert fg.show.table(power)(np.ones(3), 2).total.flops == 3
    assert fg.show.table(lambda: np.ones(3))().total.flops == 0


def test_other_numbers():
    table = fg.show.table(lambda z, i, b: (z * z, i + 1, ~b))(
        np.array([1j, complex(math.nan, 0)]), np.array([1, 2]), np.array([True])
    )
    (product,) = rows_of(table, "multiply")
    assert (product.minimum, product.nans) == (None, 1)
    assert rows_of(table, "add")[0].maximum == 3


def test_errors():
    with pytest.raises(ValueError, match="repeat is 1 or more"):
        fg.show.table(np.sin, repeat=0)
    with pytest.raises(TypeError, match="show"):
        fg.show.table(3)
    with pytest.raises(TypeError, match="call it from outside"):
        fg.grad(lambda x: fg.show.table(np.sin)(x).total.flops * x)(1.0)


def test_quantities():
    assert [quantity(x) for x in (0, 999, 1000, 999_499, 999_999, 1.5e16)] == [
        "0",
        "999",
        "1.00 k",
        "999 k",
        "1.00 M",
        "15.0 P",
    ]
    assert [duration(x) for x in (0.0, 1e-6, 0.5, 100)] == ["0.00 µs", "1.00 µs", "500 ms", "100 s"]
