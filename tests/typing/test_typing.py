"""Type checkers and editors: what they find in programs of users, and what they complete."""

import json
import re
import shutil
import subprocess
import sys
import types
import typing
from pathlib import Path

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.typing import Array
from tests.folding import each
from tools import stubs

ROOT = Path(__file__).parent.parent.parent
PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


def marked(program):
    """Return the numbers of the lines that are marked as errors."""
    lines = program.read_text("utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("  # error")}


def test_mypy_finds_the_errors_of_programs_and_no_others(monkeypatch):
    monkeypatch.chdir(ROOT)
    api = pytest.importorskip("mypy.api")
    found, errors, _ = api.run(
        ["--strict", "--no-error-summary", "--hide-error-context", *map(str, PROGRAMS)]
    )
    assert errors == ""
    places = re.findall(r"^(.*?):(\d+): error: (.*)", found, re.MULTILINE)
    wanted = {(program.name, line) for program in PROGRAMS for line in marked(program)}
    assert {(Path(path).name, int(line)) for path, line, _ in places} == wanted, found


def test_pyright_finds_the_errors_of_programs_and_no_others():
    command = shutil.which("basedpyright") or shutil.which("pyright")
    if command is None:
        pytest.skip("there is no pyright: pip install basedpyright")
    run = [
        command,
        "--outputjson",
        "--level",
        "error",
        "--pythonpath",
        sys.executable,
        *map(str, PROGRAMS),
    ]
    found = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    errors = json.loads(found)["generalDiagnostics"]
    wanted = {(program.name, line) for program in PROGRAMS for line in marked(program)}
    assert {(Path(e["file"]).name, e["range"]["start"]["line"] + 1) for e in errors} == wanted, (
        found
    )


@pytest.mark.parametrize(
    ("program", "wanted"),
    [
        ("import fungrad.numpy as fnp\nx = fnp.sin(1.0)\nx.sh", "shape"),
        ("import fungrad as fg\ndef f(x: fg.Array):\n    x.resh", "reshape"),
        ("import fungrad as fg\nfg.value_and", "value_and_grad"),
        ("import fungrad as fg\nfg.numpy.linalg.eigv", "eigvals"),
        ("import fungrad as fg\nfg.grad(lambda x: x, holo", "holomorphic="),
        ("import fungrad.numpy as fnp\nfnp.sum(1.0, keepd", "keepdims="),
        ("import fungrad.numpy as fnp\nfnp.fft.fft(1.0).dty", "dtype"),
        ("from fungrad.scipy import special\nx = special.gammaln(1.0)\nx.sh", "shape"),
        ("from fungrad.scipy import special\nspecial.gammal", "gammaln"),
        ("from fungrad.scipy import linalg\nlinalg.expm([[1.0]]).sh", "shape"),
        ("from fungrad import lax\nlax.rsqrt(1.0).sh", "shape"),
        (
            "import fungrad as fg\ndef f(c: dict[str, fg.Array], x: fg.Array) -> tuple[dict[str, fg.Array], None]: ...\n"
            "state: dict[str, fg.Array]\ncarry, ys = fg.lax.scan(f, state, 1.0)\ncarry['w'].sh",
            "shape",
        ),
        ("from fungrad import nn\nnn.softmax([1.0]).sh", "shape"),
        ("from fungrad import nn\nnn.softmax([1.0], ax", "axis="),
        ("from fungrad import random\nkey = random.key(0)\nrandom.normal(key, (2,)).sh", "shape"),
        ("import fungrad as fg\nfg.scipy.stats.norm.logp", "logpdf"),
        ("from fungrad import optim\noptim.adam(0.1).upd", "update"),
        ("from fungrad import optim\noptim.tree.norm([1.0]).sh", "shape"),
        ("from fungrad import optim\noptim.adam(0.1, eps_r", "eps_root="),
    ],
)
def test_editors_complete(program, wanted):
    jedi = pytest.importorskip("jedi")
    lines = program.split("\n")
    script = jedi.Script(program, project=jedi.Project(ROOT))
    assert wanted in [found.name for found in script.complete(len(lines), len(lines[-1]))]


def test_editors_show_what_a_function_does():
    jedi = pytest.importorskip("jedi")
    (found,) = jedi.Script("import fungrad.numpy as fnp\nfnp.sum", project=jedi.Project(ROOT)).help(
        2, 5
    )
    assert "Sum of array elements over a given axis." in found.docstring()
    assert "keepdims" in found.docstring()


SEEN = {
    "grad": "argnums",
    "value_and_grad": "argnums",
    "jacfwd": "argnums",
    "hessian": "argnums",
    "vmap": "in_axes",
    "jit": "static_argnums",
}


@pytest.mark.parametrize("name", SEEN)
def test_the_first_signature_that_editors_show_has_the_argument_that_matters(name):
    jedi = pytest.importorskip("jedi")
    program = f"import fungrad as fg\nfg.{name}("
    first, *_ = jedi.Script(program, project=jedi.Project(ROOT)).get_signatures()
    assert SEEN[name] in [parameter.name for parameter in first.params]
    assert "fun" in [parameter.name for parameter in first.params]


def functions():
    """Yield the functions of `fungrad.numpy` and its modules that rules are written for."""
    for module in (fnp, fnp.linalg, fnp.fft):
        numpys = np if module is fnp else getattr(np, module.__name__.rpartition(".")[2])
        for name in module.__all__:
            function, numpys_own = getattr(module, name), getattr(numpys, name, None)
            if isinstance(function, types.FunctionType) and function is not numpys_own:
                yield pytest.param(function, numpys_own, id=f"{module.__name__}.{name}")


@each(("function", "numpys"), functions)
def test_documentation_has_numpys_parameters(function, numpys):
    if "Parameters\n" in (numpys.__doc__ or ""):
        assert re.search(r"^ *Parameters\n *-----", function.__doc__, re.MULTILINE)


CALLS = {
    "tuple[_Array, ...]": lambda: fnp.nonzero(np.eye(2)),
    "tuple[_Array, _Array]": lambda: fnp.divmod(np.ones(2), 2.0),
    "tuple[_Array, _Array, _Array]": lambda: fnp.histogram2d(np.ones(2), np.ones(2)),
    "list[_Array]": lambda: fnp.split(np.ones(4), 2),
    "_bool": lambda: fnp.iscomplexobj(np.ones(2)),
    "_bool | _Array": lambda: fnp.allclose(np.ones(2), 1.0),
    "None": lambda: fnp.put(np.ones(2), 0, 1.0),
    "str": lambda: fnp.array_str(np.ones(2)),
    "int": lambda: fnp.ndim(np.ones(2)),
    "tuple[int, ...]": lambda: fnp.shape(np.ones(2)),
    "np.dtype[_Any]": lambda: fnp.result_type(np.ones(2)),
    "type[_Any]": lambda: fnp.common_type(np.ones(2)),
    "tuple[_Array, _Array, _Array, _Array]": lambda: fnp.linalg.lstsq(np.eye(2), np.ones(2)),
}


def is_of(value, hint):
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return any(is_of(value, h) for h in inside)
    if origin is tuple:
        inside = inside[:1] * len(value) if inside[-1] is ... else inside
        return isinstance(value, tuple) and all(map(is_of, value, inside))
    if origin is list:
        return isinstance(value, list) and all(is_of(v, inside[0]) for v in value)
    if origin is not None:
        return isinstance(value, origin)
    return (
        value is None
        if hint is None
        else isinstance(value, (hint, np.generic) if hint is np.ndarray else hint)
    )


@pytest.mark.parametrize("result", CALLS)
def test_results_that_are_no_arrays_are_what_the_stub_says(result):
    names = {"_Array": np.ndarray, "_bool": bool, "_Any": typing.Any, "np": np}
    assert result in stubs.RESULTS.values()
    assert is_of(
        CALLS[result](),
        eval(result, names) if result != "tuple[_Array, _Array, _Array, _Array]" else tuple,
    )


def test_arrays_and_tracers_are_instances_of_array():
    seen = []
    fg.jit(lambda x: seen.append(isinstance(x, Array)) or x)(1.0)
    assert seen == [True]
    assert isinstance(np.ones(2), Array)
    assert not isinstance([1.0], Array)
    assert fg.Array is Array


def test_jaxtyping_checks_shapes_of_tracers():
    jaxtyping = pytest.importorskip("jaxtyping")
    beartype = pytest.importorskip("beartype").beartype
    Float = jaxtyping.Float

    @jaxtyping.jaxtyped(typechecker=beartype)
    def product(a: Float[Array, "n m"], b: Float[Array, "m"]) -> Float[Array, "n"]:  # noqa: F722, F821
        return a @ b

    a, b = np.ones((3, 2)), np.ones(2)
    for transformed in (
        fg.jit(product),
        fg.vmap(product, in_axes=(None, None), axis_size=1, out_axes=None),
    ):
        np.testing.assert_array_equal(transformed(a, b), [2, 2, 2])
    np.testing.assert_array_equal(fg.grad(lambda a: product(a, b).sum())(a), np.ones((3, 2)))
    for wrong in (np.ones(3), np.ones(2, int)):
        with pytest.raises(jaxtyping.TypeCheckError, match="parameter 'b'"):
            fg.jit(product)(a, wrong)


@pytest.mark.parametrize(
    "transform", [lambda f: f, fg.grad, fg.jit, lambda f: lambda x: fg.vmap(f)(x[None])]
)
def test_jaxtyping_of_plain_arrays_alone_and_of_both(transform):
    """As docs/typing.md has it."""
    jaxtyping = pytest.importorskip("jaxtyping")
    beartype = pytest.importorskip("beartype").beartype
    text = (ROOT / "docs" / "typing.md").read_text("utf-8")
    program = re.search(r"```py\n(from beartype.*?)```", text, re.DOTALL)[1]
    loss = {"np": np, "fg": fg, "fnp": fnp, "Array": Array}
    exec(program, loss)
    transform(loss["loss"])(np.ones(3))

    @jaxtyping.jaxtyped(typechecker=beartype)
    def narrow(x: jaxtyping.Float[np.ndarray, "n"]):  # noqa: F821
        return fnp.sum(x**2)

    traced = transform(narrow)
    if traced is narrow:
        assert traced(np.ones(3)) == 3.0
    else:
        with pytest.raises(jaxtyping.TypeCheckError, match="parameter 'x'"):
            traced(np.ones(3))
