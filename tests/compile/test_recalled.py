"""Programs with kernels on disk: what their key depends on, and that what is read is what was made."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile import canonical, processor, recalled
from fungrad.compile.fallback import NotKept
from fungrad.compile.lower import Program
from fungrad.compile.targets import host, store
from fungrad.core.types import KEYS, ArrayType
from fungrad.primitives.contraction import DotGeneral
from fungrad.primitives.elementwise import mul, sin
from fungrad.transforms.call import programs
from tests.compile.compiling import X, in_mode, needs_compiler

M = np.linspace(0, 1, 12).reshape(3, 4)


def key(function, *args):
    return key_of(Program(fg.jit(function).lower(*args).expr))


def key_of(program):
    return recalled.key_of(program.expr, program.borrowed, program.donated)


# Keys


def test_equal_programs_have_one_key(place):
    def first(x, y):
        return fnp.sin(x) * y + fnp.cos(y), fg.lax.fori_loop(0, 9, lambda i, z: z * y, x)

    def third(b, a):

        def of_another_name(j, c):
            return c * a

        e = fnp.sin(b) * a
        fnp.exp(a)  # nobody reads it
        d = fnp.cos(a)
        return e + d, fg.lax.fori_loop(0, 9, of_another_name, b)

    keys = [key(first, X, X)]
    key(lambda x: x, X)  # whatever was made before
    keys += [key(first, X, X), key(lambda a, b: first(a, b), X, X), key(third, X, X)]
    assert None not in keys
    assert len(set(keys)) == 1
    assert key(lambda x, y: fg.jit(first)(x, y), X, X) == key(
        lambda x, y: fg.jit(third)(x, y), X, X
    )


def test_numbers_of_variables_do_not_matter():
    program = Program(fg.make_expr(lambda x: fnp.sin(x) * x + 2.0)(X)).expr
    n = len(program.types)
    moved = [
        equation._replace(
            inputs=tuple([n - 1 - v for v in equation.inputs]),
            outputs=tuple([n - 1 - v for v in equation.outputs]),
        )
        for equation in program.equations
    ]
    other = type(program)(
        tuple([n - 1 - v for v in program.inputs]),
        tuple(moved),
        tuple([n - 1 - v for v in program.outputs]),
        program.types[::-1],
        {n - 1 - v: x for v, x in program.constants.items()},
    ).check()
    assert canonical.text_of(other) == canonical.text_of(program)


def test_different_programs_have_different_keys(place):
    c, nan = np.ones(3), float("nan")
    functions = [
        (lambda x: fnp.sin(x), X),
        (lambda x: fnp.cos(x), X),
        (lambda x: fnp.sin(x), X[1:]),
        (lambda x: fnp.sin(x), X.astype("f4")),
        (lambda x: fnp.sin(x) * 2, X),
        (lambda x: fnp.sin(x) * 3, X),
        (lambda x: fnp.sin(x) * nan, X),
        (lambda x: fnp.sin(x) * 0.0, X),
        (lambda x: fnp.sin(x) * -0.0, X),
        (lambda x: (fnp.sin(x), x), X),
        (lambda x: (x, fnp.sin(x)), X),
        (lambda x: x[:3] * c, X),
        (lambda x: x[:3] * (2 * c), X),
        (lambda x: fnp.sum(x, 0), M),
        (lambda x: fnp.sum(x, 1), M),
        (lambda x: fg.lax.fori_loop(0, 9, lambda i, y: y * y, x), X),
        (lambda x: fg.lax.fori_loop(0, 9, lambda i, y: y * x, x), X),
        (lambda x: fg.lax.fori_loop(0, 8, lambda i, y: y * y, x), X),
        (lambda x: fg.lax.cond(x[0] > 0, lambda: x, lambda: x * 2), X),
    ]
    keys = [key(*row) for row in functions]
    assert None not in keys
    assert len(set(keys)) == len(keys)


def test_what_else_is_in_the_key(monkeypatch):
    expr = fg.make_expr(lambda x: fnp.sin(x) * 2)(X)
    versions = recalled._versions.__wrapped__
    monkeypatch.setattr(recalled, "_versions", versions)
    changes = [
        (recalled, "FORMAT", recalled.FORMAT + 1),
        (recalled, "_sources", lambda: "changed"),
        (np, "__version__", "0"),
        (processor, "threads", lambda: 77),
    ]
    keys = [recalled.key_of(expr), recalled.key_of(expr, (0,)), recalled.key_of(expr, (), (0,))]
    for where, name, value in changes:
        with monkeypatch.context() as m:
            m.setattr(where, name, value)
            keys.append(recalled.key_of(expr))
    assert len(set(keys)) == len(keys) == 3 + len(changes)


def test_a_changed_module_changes_the_key(tmp_path, monkeypatch):
    package = tmp_path / "package"
    (package / "compile").mkdir(parents=True)
    monkeypatch.setattr(recalled, "__file__", str(package / "compile" / "recalled.py"))
    found = [recalled._sources()]
    for name, text in [("a.py", "1"), ("compile/b.py", "1"), ("a.py", "22"), ("note.txt", "")]:
        (package / name).write_text(text)
        found.append(recalled._sources())
    assert len(set(found)) == 4  # but for what is no module
    assert found[3] == found[4]


def test_functions_of_the_users_have_no_key(place):
    f = fg.custom_jvp(lambda x: fnp.sin(x))
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    called = fg.jit(lambda x: fg.pure_callback(np.sin, x, x))
    assert key_of(Program(called.lower(X).expr)) is None


def test_without_a_folder_nothing_is_kept():
    with pytest.raises(NotKept):
        Program(fg.jit(lambda x: fnp.sin(x)).lower(X).expr).recalled(np)


# Values


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -3,
        2.5,
        float("inf"),
        1 - 2j,
        "a",
        (1, (2.0, None)),
        slice(None, 3),
        pytest.param(frozenset(["a", "b"]), id="a set"),  # whose text has any order
        np.float32(2.5),
        np.bool_(True),
        np.dtype("c8"),
        KEYS["rbg"],
        ArrayType((2, 3), np.dtype("f4"), False),
        mul,
        sin,
        DotGeneral(((1,), (0,)), ((), ())),
        np.float64,
    ],
    ids=str,
)
def test_values_are_read_as_they_were(value):
    if value is KEYS["rbg"]:
        with pytest.raises(canonical.Unspeakable):
            canonical.text_of(value)
        return
    found = canonical.read(json.loads(canonical.text_of(value)))
    assert type(found) is type(value)
    assert found == value


@pytest.mark.parametrize(
    "array",
    [
        M,
        M.T,
        M.astype("f2"),
        M[::2, ::-1] * 1j,
        np.broadcast_to(np.arange(4), (3, 4)),
        np.transpose(np.arange(24).reshape(2, 3, 4), (1, 0, 2)),
        np.array(2.5),
        np.zeros((0, 3)),
        np.array(["ab", "c"]),
    ],
    ids=lambda x: f"{x.shape} {x.strides} {x.dtype}",
)
def test_arrays_are_read_as_they_were(array):
    found = canonical.read(json.loads(canonical.text_of(array)))
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(found, array)
    like, expected = np.empty_like(found), np.empty_like(array)
    assert like.strides == expected.strides  # it lies alike
    assert not found.flags.writeable


@pytest.mark.parametrize(
    "value", [lambda x: x, [1], np.array([None]), np.sin, object(), pytest, np.zeros(1 << 18)]
)
def test_values_without_a_text(value):
    with pytest.raises(canonical.Unspeakable):
        canonical.text_of(value)


@pytest.mark.parametrize(
    "text",
    [
        ["made", "os:system", "exit 1"],
        ["made", "numpy:load", "x"],
        ["made", "builtins:eval", "1/0"],
        ["made", "fungrad.core.tree:flatten", 1],
        ["class", "subprocess:Popen"],
        ["entry", "os", "system"],
        ["program", "00"],
        ["unknown"],
    ],
)
def test_nothing_else_is_made_of_a_text(text):
    with pytest.raises(canonical.Unspeakable):
        canonical.read(text)


# Programs


def mixed(x):
    y = fnp.linalg.solve(x @ x.T + 4 * fnp.eye(3), fnp.sin(x))
    z = fnp.sort(fnp.pad(y, 1), axis=1) * 2
    return fnp.sum(z), fnp.concatenate([z, np.broadcast_to(np.float64(1), (2, 6))])


def looping(x):
    return fg.lax.fori_loop(0, 5, lambda i, y: fnp.sort(fnp.sin(y) + i), x)


ROWS = {
    "elementwise": (lambda x: fnp.sin(x) * x + 2, X),
    "a sort": (lambda x: fnp.sort(x), X),
    "calls and kernels": (mixed, M),
    "gradient": (fg.grad(lambda x: mixed(x)[0]), M),
    "a loop of Python's": (looping, X),
    "complex": (lambda x: fnp.exp(1j * x), X),
    "integers": (lambda x: x // 3 + 1, np.arange(9)),
    "empty": (lambda x: fnp.sin(x) + 1, X[:0]),
    "a number": (lambda x: fnp.sin(x) + 1, 2.0),
}
WITHOUT = {"a sort", "empty"}


@needs_compiler
@in_mode("eager")
@pytest.mark.parametrize("name", ROWS)
def test_recalled_programs_are_those_that_were_made(mode, place, name):
    function, x = ROWS[name]
    expr = fg.jit(function).lower(x).expr
    first, second = Program(expr), Program(expr)
    made = first.with_kernels(np)
    found = second.recalled(np)
    assert (made is None) == (found is None) == (name in WITHOUT)
    if made is None or found is None:
        return
    assert found[1:] == made[1:]
    with np.errstate(all="raise"):
        for a, b in zip(made.function(np.asarray(x)), found.function(np.asarray(x)), strict=True):
            assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


@needs_compiler
@in_mode("eager")
@pytest.mark.parametrize("damage", ["machine", "evicted", "truncated", "renamed"])
def test_what_does_not_fit_is_made_anew(mode, place, damage, monkeypatch):
    program = Program(fg.jit(mixed).lower(M).expr)
    program.with_kernels(np)
    path = place / f"{key_of(program).hex()}.kernel"
    if damage == "machine":
        monkeypatch.setattr(host, "compiler", lambda: ("another",))
    elif damage == "evicted":
        host._functions.clear()
        for other in place.iterdir():
            if other != path:
                other.unlink()
    elif damage == "truncated":
        path.write_bytes(path.read_bytes()[:-1])
    else:
        data = store.get(key_of(program)).replace(b"fungrad.primitives", b"fungrad.primitivos")
        store.put(key_of(program), data)
    with pytest.raises(NotKept):
        program.recalled(np)
    if damage != "machine":
        program.with_kernels(np)
        assert program.recalled(np) is not None


@needs_compiler
@in_mode("background")
def test_kernels_on_disk_are_there_without_being_repaid(mode, place, made, monkeypatch):
    """What has been compiled once, another process has after its first calls, whatever it gains."""
    from fungrad.compile import tiers
    from fungrad.compile.background import BACKGROUND
    from fungrad.compile.budget import BUDGET

    monkeypatch.setattr(BUDGET, "limited", True)
    monkeypatch.setattr(BUDGET, "allows", lambda *args: True)
    monkeypatch.setattr(BUDGET, "is_repaid", lambda *args: False)
    monkeypatch.setattr(tiers, "LONG", 1e9)
    for expected in (False, True):
        programs.clear()
        f = fg.jit(lambda x: fnp.sin(x) * x + 1)
        for _ in range(tiers.CALLS + 2):
            f(X)
            BACKGROUND.wait()
        assert (made[-1].native is not None) == expected
        if not expected:
            assert "not worth kernels" in made[-1].decision
            f.lower(X).compile()


@needs_compiler
@in_mode("eager")
def test_errors_and_lines_are_those_of_the_program(mode, place):
    def f(x):
        return fnp.linalg.cholesky(fnp.sin(x) * 2) * 3

    x = -np.eye(200)
    expr = fg.jit(f).lower(x).expr
    made, found = Program(expr), Program(expr)
    made.compile_kernels(), found.compile_kernels()
    with pytest.raises(np.linalg.LinAlgError) as one:
        made(x)
    with pytest.raises(np.linalg.LinAlgError) as other:
        found(x)
    assert one.value.__notes__ == other.value.__notes__


LOOKS = """
import sys
import numpy as np
import fungrad as fg
from fungrad.compile.fallback import NotKept
from fungrad.compile.recalled import recalled

try:
    recalled(fg.make_expr(np.sin)(np.ones(3)))
except NotKept:
    print([name for name in sys.modules if name.startswith(("llvmlite", "fungrad.compile.emit.llvm", "fungrad.compile.targets.host"))])
"""


@needs_compiler
def test_programs_that_are_not_on_disk_import_no_compiler(tmp_path):
    command = [sys.executable, "-c", LOOKS]
    environment = {**os.environ, "FUNGRAD_CACHE_DIR": str(tmp_path / "kernels")}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
