"""What depends on no argument may leave a function that is transformed without jit: it is an array when it is used."""

import copy
import operator
import pickle

import numpy as np
import pytest

import fungrad as fg
import fungrad.lax as lax
import fungrad.numpy as fnp
from fungrad.flatten_util import ravel_pytree

TRANSFORMS = {
    "grad": lambda f: fg.grad(f)(1.0),
    "value_and_grad": lambda f: fg.value_and_grad(f)(1.0),
    "jvp": lambda f: fg.jvp(f, (1.0,), (1.0,)),
    "vjp": lambda f: fg.vjp(f, 1.0)[1](1.0),
    "linearize": lambda f: fg.linearize(f, 1.0)[1](1.0),
    "vmap": lambda f: fg.vmap(f)(np.ones(2)),
    "jacfwd": lambda f: fg.jacfwd(f)(1.0),
    "jacrev": lambda f: fg.jacrev(f)(1.0),
    "hessian": lambda f: fg.hessian(f)(1.0),
    "vmap of grad": lambda f: fg.vmap(fg.grad(f))(np.ones(2)),
    "grad of vmap": lambda f: fg.grad(lambda x: fnp.sum(fg.vmap(f)(x)))(np.ones(2)),
}


def table():
    return fnp.cumsum(fnp.ones((2, 2)), axis=0) + 1.0


PLAIN = np.asarray(table())


def kept(run=TRANSFORMS["grad"], make=table):
    """Return what a transformed function has stored outside."""
    stored = []

    def f(x):
        stored.append(make())
        return x * x

    run(fg.as_written(f))
    return stored[0]


@pytest.mark.parametrize("name", TRANSFORMS)
def test_constants_of_each_transform(name):
    x = kept(TRANSFORMS[name])
    result = x * 2.0
    assert type(result) is np.ndarray
    assert isinstance(x, np.ndarray)
    np.testing.assert_array_equal(result, 2 * PLAIN)
    np.testing.assert_array_equal(x, PLAIN)


MADE = {
    "linear algebra": lambda: fnp.linalg.solve(fnp.eye(2), fnp.ones(2)),
    "gradient": lambda: fg.grad(lambda a: fnp.sum(a**2))(fnp.ones(2)),
    "pullback": lambda: fg.vjp(fnp.sin, fnp.ones(2))[1](fnp.ones(2))[0],
    "jit": lambda: fg.jit(lambda a: a + 1)(fnp.ones(2)),
    "vmap": lambda: fg.vmap(lambda a: a + 1)(fnp.ones(2)),
    "scan": lambda: lax.scan(lambda c, x: (c + x, c), 0.0, fnp.arange(3.0))[1],
    "cond": lambda: lax.cond(True, lambda a: a + 1, lambda a: a, fnp.ones(2)),
    "custom rule": lambda: fg.checkpoint(fnp.sin)(fnp.ones(2)),
    "ravel_pytree": lambda: ravel_pytree({"a": fnp.ones(2), "b": fnp.zeros((2, 2))})[0],
    "a scalar": lambda: fnp.sum(fnp.ones(3)),
    "a mask": lambda: fnp.tril(fnp.ones((2, 2))) > 0,
    "elements set": lambda: fg.at(fnp.zeros(3))[1].set(2.0),
}


@pytest.mark.parametrize("name", MADE)
def test_whatever_made_them(name):
    for run in (TRANSFORMS["grad"], TRANSFORMS["vmap"]):
        np.testing.assert_array_equal(np.asarray(kept(run, MADE[name])), np.asarray(MADE[name]()))


USES = {
    **{
        f"x {name} 2": lambda x, name=name: getattr(operator, name)(x, 2.0)
        for name in ("add", "sub", "mul", "truediv", "pow", "lt", "eq", "mod", "floordiv")
    },
    **{
        f"array {name} x": lambda x, name=name: getattr(operator, name)(np.ones((2, 2)), x)
        for name in ("add", "sub", "mul", "truediv", "pow", "lt", "eq", "matmul")
    },
    **{
        name: lambda x, name=name: getattr(fnp, name)(x)
        for name in ("sin", "sum", "mean", "var", "sort", "transpose", "ravel", "diag", "isfinite")
    },
    **{
        f"method {name}": lambda x, name=name: getattr(x, name)()
        for name in ("sum", "max", "copy", "ravel", "flatten", "transpose", "argmax", "cumsum")
    },
    **{f"attribute {name}": operator.attrgetter(name) for name in ("T", "real", "shape", "size")},
    "-x": operator.neg,
    "abs": abs,
    "astype": lambda x: x.astype(np.float32),
    "reshape": lambda x: x.reshape(4),
    "index": lambda x: x[0],
    "slice": lambda x: x[:, 1:],
    "masked": lambda x: x[x > 2],
    "as an index": lambda x: np.arange(9)[x.astype(int)],
    "iteration": lambda x: [row.sum() for row in x],
    "len": len,
    "float": lambda x: float(x[0, 0]),
    "in": lambda x: 2.0 in x,
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: np.concatenate([x, np.ones((1, 2))]),
    "numpy.sin": np.sin,
    "stack": lambda x: fnp.stack([x, x]),
    "where": lambda x: fnp.where(x > 2, x, 0.0),
    "einsum": lambda x: fnp.einsum("ij,jk->ik", x, np.eye(2)),
    "at": lambda x: fg.at(x)[0].set(5.0),
    "text": str,
    "repr": lambda x: repr(x).split("\n")[0],
    "format": lambda x: f"{x}",
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "argument of jit": lambda x: fg.jit(lambda y: y * 2)(x),
    "closed over by jit": lambda x: fg.jit(lambda y: y * x)(2.0),
    "argument of grad": lambda x: fg.grad(lambda y: fnp.sum(y**3))(x),
    "closed over by grad": lambda x: fg.grad(lambda y: fnp.sum(y * x))(2.0),
    "argument of vmap": lambda x: fg.vmap(lambda y: fnp.sum(y))(x),
    "closed over by vmap": lambda x: fg.vmap(lambda y: y * fnp.sum(x))(np.ones(2)),
    "beside a traced argument": lambda x: fg.jvp(lambda y: fnp.sin(x) * y, (2.0,), (1.0,)),
    "reflected beside one": lambda x: fg.grad(lambda y: fnp.sum(x / y))(2.0),
    "carry": lambda x: lax.fori_loop(0, 2, lambda i, c: c * 2, x),
    "scanned": lambda x: lax.scan(lambda c, row: (c, row * 2), 0.0, x)[1],
    "in a tree": lambda x: fg.jit(lambda d: d["a"] + 1)({"a": x}),
    "tree.map": lambda x: fg.tree.map(lambda y: y + 1, {"a": x}),
    "result": lambda x: fg.value_and_grad(lambda y: (y, x), has_aux=True)(1.0)[0][1],
    "solver": lambda x: fnp.linalg.inv(x + np.eye(2)),
    "scipy": lambda x: fg.scipy.special.gammaln(x),
    "lax": lambda x: lax.add(x, x),
    "nn": lambda x: fg.nn.softmax(x),
    "make_expr": lambda x: fg.make_expr(lambda y: y * x)(1.0).outputs,
}


@pytest.mark.parametrize("name", USES)
def test_whatever_they_are_used_for(name):
    use = USES[name]
    expected = use(PLAIN)
    for run in (TRANSFORMS["grad"], TRANSFORMS["vmap"]):
        found = use(kept(run))
        if isinstance(expected, str):
            assert found == expected
        else:
            fg.tree.map(_assert_close, found, expected)


def _assert_close(found, expected):
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-15)


def test_what_depends_on_an_argument_is_an_error():
    stored = []

    def f(x):
        stored.extend([x, x * 2, fnp.ones(3) * x, fnp.zeros_like(x)])
        return x * x

    for run in (TRANSFORMS["grad"], TRANSFORMS["vmap"]):
        del stored[:]
        run(f)
        for x in stored[:3]:
            with pytest.raises(fg.LeakedTracerError, match="has returned"):
                x + 1
        assert stored[3] + 1 == 1


def test_what_depends_on_an_enclosing_argument_is_an_error():
    def f(x):
        stored = []
        fg.vmap(lambda y: stored.append(fnp.ones(2) * x) or y)(np.ones(3))
        return fnp.sum(stored[0])

    with pytest.raises(fg.LeakedTracerError):
        fg.grad(fg.as_written(f))(1.0)


def test_answers_that_jit_guards_are_no_constants():
    stored = []

    def f(x):
        if fnp.sum(x) > 0:
            stored.append(x)
        return x * 2.0

    fg.jit(f)(np.ones(2))
    with pytest.raises(fg.LeakedTracerError):
        stored[0] + 1


def test_they_are_read_only():
    x = kept()
    assert x.sum() == PLAIN.sum()
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1.0
    y = x + 0
    y[0] = 1.0


def test_the_trace_is_let_go():
    x = kept()
    assert x.sum() == PLAIN.sum()
    assert x._owner is None
