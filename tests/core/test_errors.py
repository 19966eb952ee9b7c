"""Errors name the user's line and hide the library's own frames."""

import traceback

import numpy as np
import pytest
from scipy import integrate, ndimage, optimize, stats

import fungrad as fg
from fungrad.core import errors


def frames(error):
    return [f.name for f in traceback.extract_tb(error.value.__traceback__)]


def broken(x):
    return x / (1 // 0)


@pytest.mark.parametrize(
    "run",
    [
        lambda: fg.grad(broken)(1.0),
        lambda: fg.grad(fg.jit(broken))(1.0),
        lambda: fg.jit(fg.grad(broken))(1.0),
        lambda: fg.vmap(fg.jacfwd(broken))(np.ones(2)),
        lambda: fg.hessian(broken)(1.0),
    ],
    ids=range(5),
)
def test_frames_of_the_library_are_hidden(run, monkeypatch):
    monkeypatch.delenv("FUNGRAD_FULL_TRACEBACKS", raising=False)
    with pytest.raises(ZeroDivisionError) as error:
        run()
    # A jitted function leaves its __call__: a wrapper around that would slow down every call.
    assert [n for n in frames(error) if n not in ("<lambda>", "broken", "__call__")] == [
        "test_frames_of_the_library_are_hidden"
    ]
    assert frames(error)[-1] == "broken"


def test_frames_are_kept_on_request(monkeypatch):
    monkeypatch.setenv("FUNGRAD_FULL_TRACEBACKS", "1")
    with pytest.raises(ZeroDivisionError) as error:
        fg.grad(broken)(1.0)
    assert len(frames(error)) > 3


def test_causes_are_cleaned_too(monkeypatch):
    monkeypatch.delenv("FUNGRAD_FULL_TRACEBACKS", raising=False)

    def f(x):
        try:
            fg.grad(broken)(x)
        except ZeroDivisionError as error:
            raise KeyError("wrapped") from error

    with pytest.raises(KeyError) as error:
        fg.grad(f)(1.0)
    cause = error.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    names = [f.f_globals["__name__"] for f, _ in traceback.walk_tb(cause.__traceback__)]
    assert set(names) == {__name__}


def test_places():
    here = errors.user_source()  # this line
    text = errors.describe_source(here)
    assert text.startswith("test_errors.py:")
    assert text.endswith(" (in test_places): here = errors.user_source()  # this line")
    assert errors.describe_source(None) == "an unknown line"
    code = compile("x = 1", "<nowhere>", "exec")
    assert errors.describe_source((code, 0)) == "<nowhere>:1 (in <module>)"


def test_internal_frames_are_skipped():
    kept = []

    def f(x):
        kept.append(errors.here())
        return x

    fg.make_expr(f)(1.0)
    assert "(in f): kept.append(errors.here())" in kept[0]


USERS = """
def fails(x):
    return x / (1 // 0)

def asks(x):
    return x if x > 0 else -x

def negates(x):
    return -x
"""


@pytest.mark.parametrize(
    "name",
    ["fungrad_models", "fungrad_models.layers", "fungrads", "my.fungrad.numpy", "numpyro", None, 7],
)
@pytest.mark.parametrize("folder", ["fungrad", "fungrad/fungrad/numpy", "site-packages/numpy"])
def test_users_own_modules_are_told_from_those_of_the_library(
    name, folder, tmp_path, monkeypatch, as_written
):
    monkeypatch.delenv("FUNGRAD_FULL_TRACEBACKS", raising=False)
    path = tmp_path / folder / "core.py"
    path.parent.mkdir(parents=True)
    path.write_text(USERS, "utf-8")
    module = {"__name__": name}
    exec(compile(USERS, str(path), "exec"), module)
    with pytest.raises(ZeroDivisionError) as error:
        fg.grad(module["fails"])(1.0)
    assert frames(error)[-1] == "fails"
    with pytest.raises(fg.ConcretizationError) as error:
        fg.jit(module["asks"])(1.0)
    assert str(error.value).startswith("at core.py:6 (in asks): return x if x > 0 else -x")
    assert frames(error)[-1] == "asks"
    (source,) = fg.make_expr(module["negates"])(1.0).sources
    assert errors.describe_source(source) == "core.py:9 (in negates): return -x"


def test_the_classes():
    assert issubclass(fg.ConcretizationError, TypeError)
    assert issubclass(fg.LeakedTracerError, RuntimeError)
    assert issubclass(fg.MissingRuleError, NotImplementedError)
    assert issubclass(fg.ExprError, AssertionError)
    for cls in (fg.ConcretizationError, fg.LeakedTracerError, fg.MissingRuleError, fg.ExprError):
        assert issubclass(cls, fg.FungradError)


@pytest.mark.parametrize("wrap", [fg.jit, lambda f: lambda x: fg.vmap(f)(np.full(2, x))])
@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: x if x > 0 else -x, "fungrad.numpy.where"),
        (lambda x: float(x), "static_argnums"),
        (lambda x: x.item(), "static_argnums"),
        (lambda x: range(x.astype(int)), "static_argnums"),
        (lambda x: complex(x), "return it and convert outside"),
    ],
    ids=range(5),
)
def test_values_that_do_not_exist(wrap, f, words, as_written):
    with pytest.raises(fg.ConcretizationError, match=words) as error:
        wrap(f)(1.0)
    first = str(error.value).splitlines()[0]
    assert first.startswith("at test_errors.py:")
    assert "lambda x:" in first


@pytest.mark.parametrize("wrap", [fg.grad, fg.jit])
def test_numpy_s_own_conversion_says_what_to_use(wrap, as_written):
    with pytest.raises(TypeError, match="cannot become a NumPy array") as error:
        wrap(lambda x: np.asarray(x))(1.0)
    assert "np.asarray(x)" in str(error.value).splitlines()[0]


def test_errors_of_compiled_programs_carry_the_line():
    def f(x, i):
        return x[i] * 2.0  # the line

    g = fg.jit(f)
    x = np.ones(3)
    assert g(x, 2) == 2.0
    for _ in range(2):
        with pytest.raises(IndexError) as error:
            g(x, 7)
        (note,) = error.value.__notes__
        assert "raised by `gather" in note
        assert "(in f): return x[i] * 2.0  # the line" in note
    assert g(x, 2) == 2.0


def test_errors_of_evaluated_programs_carry_the_line():
    def f(x):
        i = fg.numpy.argmax(x) + 7  # no constant: an error of those is raised where they are used
        return x[i] * 2.0  # the line

    x = np.ones(3)
    for _ in range(3):  # evaluated, then compiled
        with pytest.raises(IndexError) as error:
            fg.jvp(f, (x,), (x,))
        notes = "\n".join(error.value.__notes__)
        assert "(in f): return x[i] * 2.0  # the line" in notes


def test_errors_of_other_primitives_of_a_program():
    def f(x, i):
        a = x * 3.0
        b = fg.numpy.sin(a)
        c = b[i]  # here
        return c + a

    g = fg.jit(f)
    with pytest.raises(IndexError) as error:
        g(np.ones(3), np.array([0, 1, 9]))
    assert "(in f): c = b[i]  # here" in error.value.__notes__[0]


IN_SCIPY = {
    "brentq": (lambda x: optimize.brentq(lambda y: y - x, -9.0, 9.0), "optimize.brentq"),
    "brentq args": (
        lambda x: optimize.brentq(lambda y, x: y - x, -9.0, 9.0, args=(x,)),
        "optimize.brentq",
    ),
    "bisect": (lambda x: optimize.bisect(lambda y: y - x, -9.0, 9.0), "optimize.bisect"),
    "toms748": (lambda x: optimize.toms748(lambda y: y - x, -9.0, 9.0), "optimize.toms748"),
    "root_scalar": (
        lambda x: optimize.root_scalar(lambda y: y - x, bracket=(-9.0, 9.0)).root,
        "optimize.root_scalar",
    ),
    "minimize": (
        lambda x: optimize.minimize(lambda y: ((y - x) ** 2).sum(), np.ones(2)).x.sum(),
        "optimize.minimize",
    ),
    "fmin": (
        lambda x: optimize.fmin(lambda y: ((y - x) ** 2).sum(), np.ones(2)).sum(),
        "optimize.minimize",
    ),
    "least_squares": (
        lambda x: optimize.least_squares(lambda y: y - x, np.ones(2)).x.sum(),
        "optimize.least_squares",
    ),
    "quad": (lambda x: integrate.quad(lambda t: t * x, 0.0, 1.0)[0], "integrate.quad"),
    "quad bounds": (lambda x: integrate.quad(lambda t: t, 0.0, x)[0], "integrate.quad"),
    "odeint": (
        lambda x: integrate.odeint(lambda y, t: -y * x, 1.0, np.arange(3.0))[-1, 0],
        "integrate.odeint",
    ),
    "solve_ivp": (
        lambda x: integrate.solve_ivp(lambda t, y: -y * x, (0.0, 1.0), [1.0]).y.sum(),
        "integrate.solve_ivp",
    ),
    "map_coordinates": (
        lambda x: ndimage.map_coordinates(np.eye(3), [[x], [x]])[0],
        "ndimage.map_coordinates",
    ),
    "norm": (lambda x: stats.norm.pdf(x), "stats.norm.pdf"),
}


@pytest.mark.parametrize("wrap", [fg.grad, fg.jit])
@pytest.mark.parametrize("name", IN_SCIPY)
def test_functions_of_scipy_that_take_functions_say_what_to_call(name, wrap, as_written):
    f, ours = IN_SCIPY[name]
    # brentq and bisect, in C, do not look whether their function has failed: they take what lies in the memory
    # for its value and may raise an error of their own, for two ends of one sign; ours is a note on it then.
    # Or they call it again while our error is pending: then a lookup of an attribute that Python has not cached
    # fails, and takes the place of our error.
    kinds = (fg.LostDerivativeError, fg.ConcretizationError, ValueError)
    in_c = ("brentq", "brentq args", "bisect", "root_scalar")
    with pytest.raises((*kinds, AttributeError) if name in in_c else kinds) as error:
        wrap(f)(0.7)
    if isinstance(error.value, AttributeError):
        return
    said = [str(error.value), *getattr(error.value, "__notes__", [])][-1]
    assert f"call fungrad.scipy.{ours} in its place" in said
    assert "at test_errors.py:" in said


REPLACED = {
    "bounds": (lambda x: optimize.brentq(lambda y: y - 1.0, -x, 9.0), RuntimeError, "brentq"),
    "fsolve": (lambda x: optimize.fsolve(lambda y: y - x, 1.0).sum(), Exception, "root"),
    "leastsq": (
        lambda x: optimize.leastsq(lambda y: y - x, np.ones(2))[0].sum(),
        Exception,
        "least_squares",
    ),
}


@pytest.mark.parametrize("wrap", [fg.grad, fg.jit])
@pytest.mark.parametrize("name", REPLACED)
def test_errors_that_scipy_raises_in_place_of_ours_carry_it(name, wrap, capfd, as_written):
    f, kind, ours = REPLACED[name]
    with pytest.raises(kind) as error:
        wrap(f)(0.7)
    (note,) = error.value.__notes__
    assert note.startswith("before this, in the same function of SciPy: at test_errors.py:")
    assert f"call fungrad.scipy.optimize.{ours} in its place" in note
    with pytest.raises(ValueError, match="different signs") as other:  # it is not told twice
        wrap(lambda x: x * optimize.brentq(lambda y: 1.0, -1.0, 1.0))(0.7)
    assert not hasattr(other.value, "__notes__")


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("transform", [fg.vmap, fg.grad, fg.jit])
def test_an_interrupt_that_compiled_code_takes_no_notice_of_arrives(transform, interrupt):
    # NumPy's dispatch is such code while it asks a tracer for its class; this is what Python then makes of it.
    raised = interrupt()

    def f(x):
        try:
            raise SystemError("<f> returned a result with an exception set") from raised
        except SystemError as error:
            raise SystemError("<g> returned a result with an exception set") from error

    with pytest.raises(interrupt) as caught:
        transform(f)(np.ones(1))
    assert caught.value is raised
    with pytest.raises(SystemError, match="mine"):
        transform(lambda x: (_ for _ in ()).throw(SystemError("mine")))(np.ones(1))


def test_where_fungrad_has_no_such_function_rules_are_named():
    def f(x):
        return optimize.differential_evolution(lambda y: (y[0] - x) ** 2, [(0, 1)]).fun

    with pytest.raises(fg.LostDerivativeError, match=r"differential_evolution.*custom_jvp"):
        fg.grad(f)(0.7)


def test_errors_that_users_raise_from_ours_are_theirs(as_written):
    def f(x):
        try:
            return np.asarray(x)
        except TypeError as error:
            raise RuntimeError("mine") from error

    with pytest.raises(RuntimeError, match="mine"):
        fg.grad(f)(1.0)
