"""NumPy's scalars are not changed in place: `y += 1` makes a new one, also where `y` is kept elsewhere; arrays without axes are changed."""

import functools
import math
import operator

import numpy as np
import pytest

import fungrad as fg

EXPRESSIONS = """\
max(x[0], x[1])
min(x)
max(x, key=lambda v: -v)
max(x, default=0.0)
max([v * 2 for v in x])
sum(x)
sum([v * 2 for v in x])
sum(v for v in x)
sum(x, 1.0)
abs(x[0])
round(x[0], 1)
float(x[0])
math.sin(x[0])
math.hypot(x[0], x[1])
math.fsum(x)
math.prod(x)
math.copysign(x[0], x[1])
math.fmod(x[0], x[1])
pow(x[0], 2)
divmod(x[0], 2.0)[1]
sorted(x)[0]
sorted([v for v in x], reverse=True)[1]
x[0] if x[0] > 0 else x[1]
x[0] if x[0] > 0 else x[1] * 2
(x[0] > 0 and x[1])
x[0] or x[1]
np.where(x[0] > 0, x[0], x[1])
np.where(x[0] > 0, 1.0, 2.0)
np.maximum(x[0], x[1])
np.max(x)
np.max([x[0], x[1]])
np.sum(x)
np.mean(x)
np.median(x)
np.percentile(x, 30)
np.quantile(x, 0.3)
np.interp(x[0], [0.0, 1.0], [1.0, 2.0])
np.clip(x[0], 0, 1)
x[0].clip(0, 1)
np.clip(np.array(x[0]), 0, 1)
np.dot(x, x)
x @ x
np.vdot(x, x)
np.inner(x, x)
np.einsum('i,i->', x, x)
np.einsum('i,i', x, x)
np.tensordot(x, x, 1)
np.linalg.norm(x)
np.linalg.det(np.outer(x, x) + np.eye(3))
np.trace(np.outer(x, x))
np.trapezoid(x)
np.prod(x)
np.var(x)
np.std(x)
np.ptp(x)
np.cumsum(x)[-1]
np.sort(x)[0]
np.argmax(x) * 1.0
np.take(x, 1)
x.take(1)
np.array(x[0])
np.asarray(x[0])
np.copy(x[0])
x[0].copy()
np.float64(x[0])
np.sin(x[0])
np.sin(np.array(x[0]))
np.array(x[0]) + 1
-np.array(x[0])
np.add(x[0], 1)
np.real(x[0])
np.abs(x[0])
np.sign(x[0])
np.round(x[0], 1)
np.nan_to_num(x[0])
np.angle(x[0] + 0j)
np.choose(1, [x[0], x[1]])
np.select([x[0] > 0], [x[1]], 0.0)
np.piecewise(x[0], [x[0] > 0], [lambda v: v, 0.0])
np.full((), x[0])
np.zeros(()) + x[0]
np.ones_like(x[0])
np.zeros_like(x[0]) + x[0]
np.sinc(x[0])
np.heaviside(x[0], 0.5)
np.polyval([1.0, 2.0], x[0])
np.add.reduce(x)
np.multiply.reduce(x)
np.logaddexp.reduce(x)
np.nansum(x)
np.nanmax(x)
np.average(x)
np.average(x, weights=x ** 2)
np.ravel(x[0])[0]
np.hypot(x[0], x[1])
np.broadcast_to(x[0], ()) * 1
np.transpose(x[0])
x[0].T
np.expand_dims(x[0], 0)[0]
np.stack([x[0], x[1]])[0]
x.tolist()[0]
x[0].item()
x.item(1)
x[...][0]
x[0][()]
x[0][...]
np.max(np.array(x[0]))
np.array(x[0])[()]
np.array(x[0])[...]
functools.reduce(operator.add, x)
functools.reduce(lambda a, b: a * b, [v for v in x])
[v for v in x][1]
dict(a=x[0])['a']
next(iter(x))
np.vectorize(lambda v: v * 2)(x[0])
np.vectorize(lambda v: v * 2)(x)[0]
np.apply_along_axis(np.sum, 0, x)
np.linalg.slogdet(np.outer(x, x) + np.eye(3))[1]
np.linalg.cond(np.outer(x, x) + np.eye(3))
np.correlate(x, x)[0]
np.diff(x)[0]
np.fft.fft(x)[0].real
np.partition(x, 1)[1]
np.searchsorted(np.sort(x), 0.7) * 1.0
np.count_nonzero(x > 0) * 1.0
np.bool_(True) * x[0]
x.max()
x.sum(keepdims=True)[0]
x.dot(x)
x.prod()
x.mean()
np.linalg.multi_dot([x, np.outer(x, x), x])
np.fix(x[0])
np.trunc(x[0])
np.unwrap(x)[0]
np.i0(x[0])
np.gradient(x)[0]
np.cross([x[0], x[1], 0.0], [0.0, 1.0, x[2]])[0]
np.linalg.matrix_norm(np.outer(x, x))
np.linalg.vector_norm(x)
np.linalg.vecdot(x, x)
np.vecdot(x, x)
np.matvec(np.outer(x, x), x)[0]
np.frexp(x[0])[0]
np.modf(x[0])[0]
np.divmod(x[0], 2.0)[0]
""".splitlines()
X = np.array([0.7, 1.9, -0.4])
TRANSFORMS = {
    "jit": lambda f, x: fg.jit(f)(x),
    "vmap": lambda f, x: fg.vmap(f)(x[None])[0],
    "value_and_grad": lambda f, x: fg.value_and_grad(f)(x)[0],
}
FUNCTIONS = """
def by_name(x):
    y = {0}
    z = y
    z += 1.0
    return y

def in_a_list(x):
    y = {0}
    kept = [y]
    kept[0] += 1.0
    return y
"""


@pytest.fixture
def made(request, tmp_path):
    """The functions of an expression, from a file."""
    path = tmp_path / "made.py"
    path.write_text(FUNCTIONS.format(request.param), "utf-8")
    names = {"np": np, "math": math, "functools": functools, "operator": operator}
    exec(compile(path.read_text("utf-8"), str(path), "exec"), names)
    return [names["by_name"], names["in_a_list"]]


@pytest.mark.parametrize("made", EXPRESSIONS, indirect=True)
def test_a_number_is_a_scalar_or_an_array_as_in_numpy(made):
    for function in made:
        for name, transform in TRANSFORMS.items():
            assert np.allclose(transform(function, X), function(X)), (function.__name__, name)
