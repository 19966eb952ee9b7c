"""Small programs, each written once for any library with NumPy's functions, and where to run them."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy


@dataclasses.dataclass(frozen=True)
class Program:
    """`f(np, *args)` for a namespace `np`; `shapes` are those of its arguments."""

    f: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    positive: bool = False
    autograd: bool = True

    def arguments(self, rng, dtype=numpy.float64, batch=()):
        draw = (lambda size: rng.uniform(0.5, 2, size)) if self.positive else rng.standard_normal
        return [draw((*batch, *shape)).astype(dtype) for shape in self.shapes]


PROGRAMS: dict[str, Program] = {}


def program(*shapes, **options):
    def add(f):
        PROGRAMS[f.__name__] = Program(f, shapes, **options)
        return f

    return add


# Elementwise


@program((3,))
def trigonometry(np, x):
    return np.sin(x) * np.cos(2 * x) + np.tan(x / 4) - np.arctan(x)


@program((3,))
def inverse_trigonometry(np, x):
    y = np.tanh(x) / 2
    return np.arcsin(y) + np.arccos(y * y) * 2


@program((2, 3))
def hyperbolic(np, x):
    return np.sinh(x) - np.cosh(x / 2) * np.tanh(x)


@program((3,), positive=True)
def inverse_hyperbolic(np, x):
    return np.arcsinh(x) + np.arccosh(1 + x) * np.arctanh(x / 4)


@program((3,), positive=True)
def exponentials(np, x):
    return np.exp(-x) + np.expm1(x / 3) * np.log1p(x) - np.log(x) + np.log2(x) * np.log10(x)


@program((3,), positive=True)
def powers(np, x):
    return x**3 - x**0.5 + 2.0**x + x**-2 + np.sqrt(x) * np.square(x) + x**x


@program((3,), (3,), positive=True)
def power_of_two_arrays(np, x, y):
    return np.power(x, y) + np.arctan2(y, x) + np.hypot(x, 2 * y) * 0.5


@program((2, 3), (3,), (2, 1))
def broadcasting(np, x, y, z):
    return x * y - z / (2 + np.sin(x)) + (x - z) * y


@program((4,), (4,))
def extremes(np, x, y):
    return np.maximum(x, y) * x + np.minimum(x, 0.1) - np.clip(y, -0.5, 0.5)


@program((5,))
def choices(np, x):
    return np.where(x > 0, x * x, np.exp(x)) + np.abs(x) * np.sign(x) * x


@program((3,), (3,), autograd=False)
def logsumexp_of_two(np, x, y):
    return np.logaddexp(x, y) * x + np.logaddexp2(x, 2 * y)


@program((3,), autograd=False)
def remainders(np, x):
    return x % 0.7 + np.mod(x, -1.3) * x + np.fmod(x, 0.9)


@program((3,), autograd=False)
def sinc_and_angles(np, x):
    return np.sinc(x) + np.deg2rad(x) * np.rad2deg(x)


@program((3,), autograd=False)
def cube_root_and_reciprocal(np, x):
    return np.cbrt(x) + np.reciprocal(x + 5) + np.positive(x) - np.negative(x)


@program((4,))
def rounding_has_no_derivative(np, x):
    return np.floor(x) * x + np.ceil(x) * 2 * x + np.sign(x)


# Reductions


@program((3, 4))
def sums_and_means(np, x):
    return np.sum(x, axis=0) * np.mean(x) + np.mean(x, axis=1, keepdims=True).sum()


@program((3, 4))
def variances(np, x):
    return np.var(x, axis=0) + np.std(x, axis=1).sum() * np.var(x)


@program((2, 3), positive=True)
def products(np, x):
    return np.prod(x, axis=1) * np.prod(x)


@program((3, 4))
def maxima(np, x):
    return np.max(x, axis=1) * np.min(x) + np.max(x) * np.min(x, axis=1)


@program((3, 4))
def softmax(np, x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


@program((2, 5))
def log_softmax(np, x):
    m = np.max(x, axis=-1, keepdims=True)
    return x - m - np.log(np.sum(np.exp(x - m), axis=-1, keepdims=True))


@program((2, 4))
def cumulative_sums(np, x):
    return np.cumsum(x, axis=1) * np.cumsum(x)[-1]


@program((4,), positive=True, autograd=False)
def cumulative_products(np, x):
    return np.cumprod(x) + np.cumprod(x[::-1])


@program((6,), autograd=False)
def norms_by_hand(np, x):
    return np.sqrt(np.sum(np.square(x))) * x / np.max(np.abs(x))


# Shapes and indices


@program((2, 3))
def reshaping(np, x):
    return np.reshape(x, (3, 2)) @ x + np.ravel(x)[1] * np.transpose(x) @ x


@program((2, 3, 4), autograd=False)
def moving_axes(np, x):
    return (
        np.swapaxes(x, 0, 2) * np.moveaxis(x, 0, 2).transpose(1, 0, 2) + np.expand_dims(x.T, 0)[0]
    )


@program((3,), (2,))
def joining(np, x, y):
    z = np.concatenate([x, y, x * 2])
    return np.stack([z, z * z]) * np.sum(np.vstack([x, x])) + np.hstack([y, y]).sum()


@program((6,))
def splitting(np, x):
    a, b, c = np.split(x, 3)
    return a * b - c


@program((2, 3))
def tiling(np, x):
    return np.tile(x, (2, 2)).sum(0) + np.repeat(x, 2, axis=1)[0, 0]


@program((5,))
def slices(np, x):
    return x[1:4] * x[::2] + x[::-1][:3] - x[-3:] * x[0]


@program((4, 3))
def integer_and_array_indices(np, x):
    return x[numpy.array([0, 2, 2])] * x[1] + x[:, 0][numpy.array([3, 1, 0])]


@program((4, 3))
def pairs_of_index_arrays(np, x):
    return x[numpy.array([0, 1, 3]), numpy.array([2, 0, 0])] + x[..., None][1:, 1, 0]


@program((2, 3))
def padding(np, x):
    return np.pad(x, ((1, 0), (0, 2)), "constant") * 3


@program((3, 3))
def triangles(np, x):
    return np.tril(x) @ np.triu(x, 1) + np.diag(np.diag(x)) * np.trace(x)


@program((4,))
def rolling(np, x):
    return np.roll(x, 1) * x - x[::-1]


@program((4, 2), autograd=False)
def taking(np, x):
    i = numpy.array([[0], [1], [1], [0]])
    return np.take_along_axis(x, i, axis=1) * np.take(x, numpy.array([1, 3]), axis=0)[0]


@program((5,))
def sorting(np, x):
    return np.sort(x) * numpy.arange(5.0)


@program((3, 4), autograd=False)
def sorting_by_another(np, x):
    order = np.argsort(x[0])
    return x[1][order] * np.sort(x, axis=0)[2]


@program((4,), autograd=False)
def differences(np, x):
    return np.diff(x) * np.diff(x, n=2).sum() + np.ediff1d(x)


# Products


@program((2, 3), (3, 4), (4,))
def matrix_products(np, x, y, z):
    return x @ y @ z + np.dot(x, np.dot(y, z)) * 2


@program((2, 2, 3), (2, 3, 2))
def batched_matrix_products(np, x, y):
    return np.matmul(x, y) * 2 + np.matmul(x[0], y)


@program((3,), (3,))
def vector_products(np, x, y):
    return np.outer(x, y) * np.inner(x, y) + np.dot(x, y)


@program((2, 3, 4), (4, 3))
def tensor_products(np, x, y):
    return np.tensordot(x, y, axes=([1, 2], [1, 0])) + np.einsum("ijk,kj->i", x, y) * 2


@program((3, 3), (3, 3), autograd=False)
def einsums(np, x, y):
    return np.einsum("ij,kj->ik", x, y) + np.einsum("ii,jk->jk", x, y)


@program((3,), (3,), autograd=False)
def cross_and_kron(np, x, y):
    return np.cross(x, y) + np.kron(x, y)[3:6]


# Programs


@program((3,))
def loop(np, x):
    for k in range(5):
        x = np.sin(x) + k * x / 3
    return x


@program((4, 3), (4,), (5, 3), (2, 4))
def network(np, w, b, x, v):
    h = np.tanh(x @ w.T + b)
    return np.mean((h @ v.T) ** 2, axis=0)


@program((4,), (4,), positive=True)
def divergence(np, p, q):
    p, q = p / np.sum(p), q / np.sum(q)
    return np.sum(p * np.log(p / q))


@program((5, 2), (5,))
def weighted_distances(np, x, w):
    d = x[:, None, :] - x[None, :, :]
    return np.exp(-np.sum(d * d, axis=-1)) @ w


@program((6,))
def rosenbrock(np, x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@program((3,), (3,))
def runge_kutta(np, y, p):
    f = lambda y: np.sin(p * y) - 0.1 * y
    for _ in range(3):
        k1 = f(y)
        k2 = f(y + 0.05 * k1)
        k3 = f(y + 0.05 * k2)
        y = y + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + f(y + 0.1 * k3))
    return y


@program((4,))
def horner(np, x):
    result = 0.0 * x
    for c in (1.0, -2.0, 0.5, 3.0):
        result = result * x + c
    return result


@program((8,), (3,))
def convolution_by_slices(np, x, k):
    return sum([k[i] * x[i : i + 6] for i in range(3)])


@program((3,))
def not_all_inputs_matter(np, x):
    return np.ones(2) * 3.0 + 0 * x[0]


# Complex numbers; arguments are real and imaginary parts


@program((3,), (3,))
def through_complex_numbers(np, a, b):
    z = a + 1j * b
    w = np.exp(z * 1j) * np.conj(z) / (2 + z * z)
    return np.real(w) + np.imag(w * w) + np.abs(w)


@program((3,), (3,), autograd=False)
def complex_functions(np, a, b):
    z = a + 1j * b
    return np.abs(np.sqrt(z) + np.log(z) * np.sin(z)) ** 2 + np.angle(z) * np.tanh(z).real
