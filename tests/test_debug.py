"""`debug.print`, `debug.callback` and `debug.breakpoint` under every transform."""

import io
import pdb

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import debug
from fungrad.core.cache import CacheInfo
from fungrad.lax.control import cond, scan, while_loop
from fungrad.transforms.call import programs


def f(x):
    debug.print("x = {}", x)
    print("Python")
    debug.print("{name} {}", np.ones(2), name="constant")
    debug.print("nothing")
    return fnp.sin(x) * x


def twice(g):
    return lambda x: (g(x), g(x))[1]


ONCE = "x = 1.0\nPython\nconstant [1. 1.]\nnothing\n"
RUN = "x = 1.0\nconstant [1. 1.]\nnothing\n"

SCALAR = {
    "eager": (f, ONCE),
    "jit": (twice(fg.jit(f)), "Python\n" + RUN + RUN),
    "grad": (fg.grad(f), ONCE),
    "grad of grad": (fg.grad(fg.grad(f)), ONCE),
    "hessian": (fg.hessian(f), ONCE),
    "vjp": (lambda x: fg.vjp(f, x)[1](1.0), ONCE),
    "linearize": (lambda x: twice(fg.linearize(f, x)[1])(1.0), ONCE),
    "jvp": (lambda x: fg.jvp(f, (x,), (x,)), ONCE),
    "grad of jit": (twice(fg.grad(fg.jit(f))), "Python\n" + RUN + RUN),
    "jit of grad": (twice(fg.jit(fg.grad(f))), "Python\n" + RUN + RUN),
    "jit of grad of jit": (twice(fg.jit(fg.grad(fg.jit(f)))), "Python\n" + RUN + RUN),
    "jit in jit": (twice(fg.jit(lambda x: fg.jit(f)(x) + 1)), "Python\n" + RUN + RUN),
    "jit in jit, of constants": (
        twice(fg.jit(lambda x: x + fg.jit(f)(1.0))),
        "Python\n" + RUN + RUN,
    ),
}


@pytest.mark.parametrize("name", SCALAR)
def test_prints_once_for_each_run(name, capsys):
    function, expected = SCALAR[name]
    function(1.0)
    assert capsys.readouterr().out == expected


def mapped(x):
    debug.print("x = {}", x)
    debug.print("y = {}", x * x)
    return x * x


BATCHED = {
    "vmap": fg.vmap(mapped),
    "vmap of grad": fg.vmap(fg.grad(mapped)),
    "grad of vmap": fg.grad(lambda x: fg.vmap(mapped)(x).sum()),
    "jit of vmap": fg.jit(fg.vmap(mapped)),
    "vmap of jit": fg.vmap(fg.jit(mapped)),
    "jit of vmap of grad of jit": fg.jit(fg.vmap(fg.grad(fg.jit(mapped)))),
}


@pytest.mark.parametrize("name", BATCHED)
def test_prints_for_each_element(name, capsys):
    BATCHED[name](np.array([1.0, 2.0]))
    assert capsys.readouterr().out == "x = 1.0\nx = 2.0\ny = 1.0\ny = 4.0\n"


def test_nested_batches_are_in_order(capsys):
    def show(x, y):
        debug.print("{} {}", x, y)
        return x

    fg.vmap(lambda x: fg.vmap(lambda y: show(x, y))(np.arange(2)))(np.arange(2) + 5)
    assert capsys.readouterr().out == "5 0\n5 1\n6 0\n6 1\n"
    fg.vmap(fg.vmap(show), in_axes=(1, 0))(np.arange(4).reshape(2, 2), np.arange(4).reshape(2, 2))
    assert capsys.readouterr().out == "0 0\n2 1\n1 2\n3 3\n"


def looped(x):
    def step(carry, row):
        debug.print("carry = {}", carry)
        return carry * row, carry

    return scan(step, x, np.array([2.0, 3.0]))[0]


LOOPS = {
    "eager": looped,
    "grad": fg.grad(looped),
    "jit": fg.jit(looped),
    "jit of grad": fg.jit(fg.grad(looped)),
    "grad of jit": fg.grad(fg.jit(looped)),
    "vmap": lambda x: fg.vmap(looped)(np.array([x])),
    "vmap of grad": lambda x: fg.vmap(fg.grad(looped))(np.array([x])),
}


@pytest.mark.parametrize("name", LOOPS)
def test_prints_in_loops(name, capsys):
    LOOPS[name](1.0)
    assert capsys.readouterr().out == "carry = 1.0\ncarry = 2.0\n"


def test_prints_in_branches_and_while_loops(capsys):
    def branches(x):
        def shown(y):
            debug.print("taken {}", y)
            return y

        return cond(x > 0, shown, lambda y: -y, x)

    for function in (branches, fg.jit(branches), fg.grad(branches), fg.jit(fg.grad(branches))):
        function(2.0)
        function(-2.0)
        assert capsys.readouterr().out == "taken 2.0\n"

    def loop(x):
        def body(y):
            debug.print("{}", y)
            return y + 1

        return while_loop(lambda y: y < 2, body, x)

    fg.jit(loop)(0)
    assert capsys.readouterr().out == "0\n1\n"


def test_prints_pytrees_and_formats(capsys):
    fg.jit(lambda x: debug.print("{p} {x:.2f} {0.shape}", x, p={"a": x, "b": None}, x=x))(1.0)
    assert capsys.readouterr().out == "{'a': np.float64(1.0), 'b': None} 1.00 ()\n"


def test_the_program_of_a_print_is_found_again():
    def g(x):
        debug.print("x = {}", x)
        return fnp.tanh(x) * 3

    fg.vmap(g)(np.ones(1))
    before = programs.info()
    fg.vmap(g)(np.ones(1))
    after = programs.info()
    assert isinstance(after, CacheInfo)
    assert after.misses == before.misses


def test_an_unjitted_gradient_need_not_know_of_callbacks():
    def g(x):
        debug.callback(lambda x: None, x)  # a new function in each call
        return fnp.cosh(x) * 3

    fg.grad(g)(1.0)
    before = programs.info().misses
    fg.grad(g)(1.0)
    assert programs.info().misses == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("{}",), "has a field {0}, for which there is no argument"),
        (("{x}", 1), "has a field {x}, for which there is no argument"),
        (("{}", 1, 2), "has no field for the argument number 1"),
        (("{", 1), "cannot be read: Single '{' encountered in format string"),
    ],
)
def test_a_format_that_does_not_match(arguments, message):
    with pytest.raises(ValueError, match=r"debug.print") as error:
        debug.print(*arguments)
    assert str(error.value) == f"debug.print: the format {arguments[0]!r} {message}"


def test_errors_of_print():
    with pytest.raises(ValueError, match="has no field for the argument 'y'"):
        debug.print("{x}", x=1, y=2)
    with pytest.raises(
        TypeError, match=r"debug.print takes a format string first.*got 1.0 of type float"
    ):
        debug.print(1.0)
    with pytest.raises(
        TypeError, match=r"an argument is set\(\) of type set, which is neither an array nor"
    ):
        debug.print("{}", set())
    with pytest.raises(IndexError, match="out of range") as error:
        fg.jit(lambda x: debug.print("{}", skip_format_check=True))(1.0)
    assert "raised by `debug_callback[Print]`, from test_debug.py" in error.value.__notes__[0]


def test_print_without_a_format_is_print_itself(capsys):
    debug.print(skip_format_check=True)("{}", 1, 2)
    assert capsys.readouterr().out == "1\n"


def test_callback_gets_arrays_of_its_own():
    seen = []

    def g(x):
        y = fnp.sin(x)
        debug.callback(seen.append, y)
        return y * 2 + 1  # written into y's memory

    for function in (
        g,
        fg.jit(g),
        fg.grad(lambda x: g(x).sum()),
        fg.jit(fg.grad(lambda x: g(x).sum())),
    ):
        seen.clear()
        function(np.ones(3))
        assert len(seen) == 1
        assert type(seen[0]) is np.ndarray
        np.testing.assert_array_equal(seen[0], np.sin(np.ones(3)))
        seen[0][:] = 0  # writeable


def test_callback_keywords_and_pytrees():
    seen = []
    fg.jit(
        lambda x: debug.callback(lambda *a, **k: seen.append((a, k)), {"a": x}, "text", k=(x, None))
    )(1.0)
    assert seen == [(({"a": 1.0}, "text"), {"k": (1.0, None)})]
    debug.callback()(lambda: seen.append("called"))
    assert seen[-1] == "called"
    with pytest.raises(TypeError, match=r"debug.callback takes a function, not 3 of type int"):
        debug.callback(3)


def test_an_error_in_a_callback_names_the_line():
    def fail(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as error:
        fg.jit(lambda x: debug.callback(fail, x))(1.0)
    assert "raised by `debug_callback[fail]`, from test_debug.py" in error.value.__notes__[0]


# Breakpoints


def stopping(seen):
    def look(frame):
        seen.append((frame.f_code.co_name, {k: str(v) for k, v in frame.f_locals.items()}))

    def stops(x):
        y = 2 * x
        debug.breakpoint(backend=look, given=y)
        return y

    return stops


@pytest.mark.parametrize("transform", [lambda g: g, fg.grad, lambda g: fg.grad(fg.grad(g))])
def test_breakpoint_where_values_are_known(transform):
    seen = []
    transform(stopping(seen))(3.0)
    [(name, values)] = seen
    assert (name, values["x"], values["y"]) == ("stops", "3.0", "6.0")


@pytest.mark.parametrize(
    "transform",
    [fg.jit, lambda g: fg.jit(fg.grad(g)), lambda g: lambda x: fg.vmap(g)(np.array([x]))],
)
def test_breakpoint_under_jit_and_vmap(transform):
    seen = []
    transform(stopping(seen))(3.0)
    assert seen == [("stops", {"given": "6.0"})]


@pytest.mark.parametrize(
    "transform",
    [fg.jit, lambda g: fg.jit(fg.grad(g)), lambda g: lambda x: fg.vmap(g)(np.array([x]))],
)
def test_breakpoint_shows_local_variables(transform):
    seen, kept = [], []
    fg.grad(lambda x: kept.append(x) or x)(1.0)

    def g(self, n=3, name="text", unhashable=None, leaked=kept[0]):
        unhashable = unhashable or bytearray()
        y = {"twice": 2 * self}
        debug.breakpoint(backend=lambda frame: seen.append(dict(frame.f_locals)))
        return y["twice"] * n

    transform(g)(3.0)
    [values] = seen
    assert {n: values[n] for n in ("self", "y", "n", "name")} == {
        "self": 3.0, "y": {"twice": 6.0}, "n": 3, "name": "text"
    }  # fmt: skip
    assert (
        not {"unhashable", "leaked"} & values.keys()
    )  # neither array nor hashable; without a value


def test_breakpoint_opens_pdb(monkeypatch, capsys):
    shown = io.StringIO()

    def g(x):
        debugger = pdb.Pdb(stdin=io.StringIO("p x\ncontinue\n"), stdout=shown, nosigint=True)
        debug.breakpoint(backend=debugger.set_trace, x=x)
        return x

    assert fg.jit(g)(3.0) == 3.0
    assert "test_debug.py" in shown.getvalue()
    assert ")g()" in shown.getvalue()
    assert "(Pdb) np.float64(3.0)" in shown.getvalue()
    monkeypatch.setattr("sys.stdin", io.StringIO("p 'in the frame of', x\ncontinue\n"))

    def h(x):
        debug.breakpoint()
        return x

    fg.grad(h)(3.0)
    assert "('in the frame of', Tracer(np.float64(3.0)))" in capsys.readouterr().out


def test_breakpoint_takes_a_function():
    with pytest.raises(
        TypeError, match=r"debug.breakpoint takes a function, not 'web' of type str"
    ):
        debug.breakpoint(backend="web")


def test_what_is_left_out_has_advice():
    with pytest.raises(AttributeError, match="no 'inspect_array_sharding': arrays here are whole"):
        debug.inspect_array_sharding
    with pytest.raises(AttributeError, match=r"pass logging.info to fungrad.debug.callback"):
        debug.log
    with pytest.raises(AttributeError, match=r"module 'fungrad.debug' has no attribute 'nothing'"):
        debug.nothing


def test_an_effect_of_a_jitted_function_without_arguments_happens_in_each_call():
    seen = []
    inner = fg.jit(lambda: debug.callback(lambda: seen.append(1)))

    @fg.jit
    def outer(x):
        inner()
        return x + 1

    outer.lower(1.0)
    assert seen == []
    outer(1.0)
    outer(2.0)
    assert seen == [1, 1]


def test_what_is_not_selected_is_no_fault_and_hides_none():
    f = lambda x: np.sum(np.where(x > 0, np.log(x) * x, 0))
    x = np.array([0.0, 1.0])
    with fg.debug_nans(), np.errstate(all="ignore"):
        assert np.isfinite(fg.jit(fg.grad(f))(x)).all()
        with pytest.raises(FloatingPointError, match=r"`divide` of .* backward pass"):
            fg.jit(fg.grad(lambda x: f(x) + np.sqrt(x[0]) ** 2))(x)
