"""Transformed functions go wherever the functions they are made of can go."""

import copy
import functools
import inspect
import pickle
import textwrap

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.custom_batching import custom_vmap
from fungrad.custom_derivatives import custom_gradient
from tests.optional import needs, optional
from tests.transforms import portable
from tests.transforms.test_processes import python

cloudpickle = optional("cloudpickle")
LIBRARIES = [pickle, pytest.param(cloudpickle, marks=needs("cloudpickle"))]


def results(f, x):
    return fg.tree.map(lambda y: np.asarray(y).tolist(), f(*x) if isinstance(x, tuple) else f(x))


@pytest.mark.parametrize("name", portable.FUNCTIONS)
@pytest.mark.parametrize("library", LIBRARIES, ids=["pickle", "cloudpickle"])
def test_functions_of_functions_that_modules_define(name, library):
    f, x = portable.FUNCTIONS[name]
    assert results(library.loads(library.dumps(f)), x) == results(f, x)


@needs("cloudpickle")
def test_decorated_functions_of_modules_are_the_same_again():
    for f in (portable.jitted, portable.gradient, portable.ruled, portable.batched):
        for again in (pickle.loads(pickle.dumps(f)), cloudpickle.loads(cloudpickle.dumps(f))):
            assert again is f
    assert copy.copy(portable.jitted) is copy.deepcopy(portable.jitted) is portable.jitted


@needs("cloudpickle")
def test_functions_without_a_name_need_cloudpickle():
    b = np.arange(3.0)
    f = fg.jit(fg.vmap(lambda x: (x * b).sum()))
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(f)
    assert cloudpickle.loads(cloudpickle.dumps(f))(np.ones((2, 3))).tolist() == [3, 3]


LOADED = """
    import pickle, sys
    import numpy as np
    import fungrad as fg

    for file in sys.argv[1:]:
        for name, f, x in pickle.load(open(file, "rb")):
            found = f(*x) if isinstance(x, tuple) else f(x)
            print(name, fg.tree.map(lambda y: np.asarray(y).tolist(), found))
        print("end of file")
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What one other process prints of the functions that each library has pickled."""
    folder, libraries = tmp_path_factory.mktemp("pickled"), filter(None, [pickle, cloudpickle])
    files = {library: folder / f"{library.__name__}.pickle" for library in libraries}
    for library, file in files.items():
        file.write_bytes(library.dumps([(name, *row) for name, row in portable.FUNCTIONS.items()]))
    text = python("-c", textwrap.dedent(LOADED), *map(str, files.values()))
    return dict(zip(files, text.split("end of file\n"), strict=False))


@pytest.mark.parametrize("library", LIBRARIES, ids=["pickle", "cloudpickle"])
def test_in_another_process(printed, library):
    expected = [f"{name} {results(*row)}" for name, row in portable.FUNCTIONS.items()]
    assert printed[library].splitlines() == expected


MAIN = """
    import multiprocessing, sys, traceback
    import cloudpickle, joblib
    import numpy as np
    import fungrad as fg
    import fungrad.numpy as fnp
    from fungrad.custom_batching import custom_vmap

    @fg.jit
    def f(x):
        return fnp.sin(x) * 2

    @fg.jit
    @fg.vmap
    def stacked(x):
        return f(x) + 1

    @fg.checkpoint
    def again(x):
        return f(f(x))

    @fg.custom_jvp
    def ruled(x):
        return x * x

    @ruled.defjvp
    def rule(primals, tangents):
        return ruled(*primals), 10 * tangents[0] * ruled(primals[0])

    @fg.custom_vjp
    def clipped(x):
        return x * x

    clipped.defvjp(lambda x: (clipped(x), x), lambda x, g: (100 * g,))

    @custom_vmap
    def batched(x):
        return x + 1

    batched.def_vmap(lambda size, flags, x: (x + 100, True))

    @fg.jit
    def factorial_like(x, n=3):
        return x if n == 0 else x * factorial_like.__wrapped__(x, n - 1)

    def calls():
        x = np.ones(3)
        return [
            (f, x), (stacked, x), (again, x), (ruled, x), (clipped, x), (batched, x),
            (factorial_like, x), (fg.vmap(batched), x), (fg.vmap(fg.grad(ruled)), x),
            (fg.vmap(fg.grad(clipped)), x), (fg.jit(fg.grad(again)), 1.0), (fg.jacrev(f), x),
        ]

    def run(pair):
        function, x = pair
        return np.asarray(function(x)).tolist()

    def found_by(how, file, expected):
        if how == "load":
            found = [run(pair) for pair in cloudpickle.load(open(file, "rb"))]
            assert all("_remade" not in vars(x).get("__qualname__", "") for x, _ in calls())
        elif how == "dump":
            cloudpickle.dump(calls(), open(file, "wb"))
            found = expected
        elif how == "joblib":
            found = joblib.Parallel(n_jobs=2)(joblib.delayed(run)(pair) for pair in calls())
        else:
            with multiprocessing.get_context(how).Pool(1) as pool:
                found = pool.map(run, calls())
        return found

    if __name__ == "__main__":
        file, *ways = sys.argv[1:]
        expected = [run(pair) for pair in calls()]
        for how in ways:
            try:
                found = found_by(how, file, expected)
                assert found == expected, (found, expected)
                print(how, len(found))
            except Exception:
                print(how, repr(traceback.format_exc()))
"""

LOADER = """
    import sys
    import cloudpickle
    import numpy as np

    print([np.asarray(f(x)).tolist() for f, x in cloudpickle.load(open(sys.argv[1], "rb"))])
"""


@pytest.fixture
def script(tmp_path):
    pytest.importorskip("cloudpickle")
    pytest.importorskip("joblib")
    file = tmp_path / "script.py"
    file.write_text(textwrap.dedent(MAIN), encoding="utf-8")
    return str(file)


def test_functions_of_a_script_in_its_workers_and_in_a_process_without_it(script, tmp_path):
    file = str(tmp_path / "functions.pickle")
    printed = python(script, file, "joblib", "spawn", "dump")
    assert printed.splitlines() == ["joblib 12", "spawn 12", "dump 12"]
    expected = python(script, file, "load")  # beside those of the same names
    assert expected.strip() == "load 12"
    found = python("-c", textwrap.dedent(LOADER), file)
    assert found.startswith("[[1.682941969")


# What wraps a function looks like it


class Callable:
    """A callable object; its name may be None."""

    def __init__(self, name="called"):
        self.__name__ = name
        self.scale = 3.0

    def __call__(self, x):
        return self.scale * x * x


TRANSFORMS = {
    "grad": fg.grad,
    "value_and_grad": fg.value_and_grad,
    "vmap": fg.vmap,
    "jit": fg.jit,
    "jacfwd": fg.jacfwd,
    "jacrev": fg.jacrev,
    "hessian": fg.hessian,
    "hvp": fg.hvp,
    "checkpoint": fg.checkpoint,
    "make_expr": fg.make_expr,
    "custom_jvp": fg.custom_jvp,
    "custom_vjp": fg.custom_vjp,
    "custom_vmap": custom_vmap,
    "custom_gradient": custom_gradient,
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_names_documentation_and_attributes(name):
    def f(x: float) -> float:
        """Square."""
        return x * x

    f.unit = "m"
    for g in (TRANSFORMS[name](f), fg.jit(TRANSFORMS[name](f)), TRANSFORMS[name](fg.jit(f))):
        assert (g.__name__, g.__doc__, g.unit) == ("f", "Square.", "m")
        assert g.__qualname__.endswith("<locals>.f")
        assert g.__module__ == __name__
        assert g.__wrapped__ is not None
        assert "x: float" in str(inspect.signature(g))


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize(
    "f",
    [
        Callable(),
        Callable(None),
        functools.partial(lambda n, x: n * x * x, 3.0),
        Callable().__call__,
        fnp.square,
        np.square,
        fnp.vectorize(lambda x: x * x),
    ],
    ids=["object", "without a name", "partial", "method", "of fungrad", "ufunc", "vectorize"],
)
def test_anything_that_can_be_called(name, f):
    g = TRANSFORMS[name](f)
    assert repr(g)
    if name.startswith("custom"):
        return
    x = (2.0, 1.0) if name == "hvp" else (np.ones(2),) if name == "vmap" else (2.0,)
    assert g(*x) is not None
    assert fg.jit(fg.vmap(f))(np.ones(2)).shape == (2,)
    if isinstance(f, Callable):
        assert g.scale == 3.0


def test_decorated_methods():
    class Model:
        scale = 3.0

        @functools.partial(fg.grad, argnums=1)
        def slope(self, x):
            return self.scale * x * x

    assert Model().slope(2.0) == 12.0
    assert Model.slope(Model(), 2.0) == 12.0
