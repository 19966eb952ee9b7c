"""Cells about arrays, dtypes, indexing and updates, as documentation of JAX has them; each returns what is compared."""

import jax
import jax.numpy as jnp
import numpy as np


def creation():
    return [
        jnp.zeros(3),
        jnp.ones((2, 2), jnp.int32),
        jnp.arange(5),
        jnp.arange(1.0, 2.0, 0.25),
        jnp.linspace(0, 1, 5),
    ]


def full_and_like():
    x = jnp.full((2, 3), 7)
    return [
        x,
        jnp.full_like(x, 2.5, dtype=float),
        jnp.zeros_like(x),
        jnp.ones_like(x, dtype=jnp.float16),
        jnp.eye(3),
    ]


def lists_and_numbers():
    return [
        jnp.array([1, 2, 3]),
        jnp.array([1.0, 2]),
        jnp.asarray(3.5),
        jnp.array(True),
        jnp.array([[1, 2], [3, 4j]]),
    ]


def doubles_become_singles():
    return [
        jnp.asarray(np.arange(3.0)),
        jnp.array(np.arange(3)),
        jnp.asarray(np.float64(2)),
        jnp.sin(np.ones(2)),
    ]


def division_of_integers():
    x = jnp.arange(1, 5)
    return [x / 2, x // 2, x / x, x % 3, -x // 2, divmod(x, 3)]


def promotion_with_floats():
    i, f, h = jnp.arange(3), jnp.ones(3), jnp.ones(3, jnp.float16)
    return [
        i + f,
        i * h,
        f + h,
        i + 1.5,
        h * 2.0,
        i + jnp.uint8(3),
        jnp.float32(2) * i,
        True + i,
        i + jnp.bool_(True),
    ]


def promotion_of_bfloat16():
    b = jnp.ones(3, jnp.bfloat16)
    return [
        str((b + jnp.arange(3)).dtype),
        str((b * 2.5).dtype),
        str((b + jnp.ones(3, jnp.float32)).dtype),
        str((b + jnp.ones(3, jnp.float16)).dtype),
    ]


def result_types():
    pairs = [
        (jnp.int8, jnp.uint8),
        (jnp.int32, jnp.float16),
        (jnp.int32, jnp.uint32),
        (jnp.complex64, jnp.int32),
        (jnp.bool_, jnp.int8),
    ]
    return [str(jnp.promote_types(a, b)) for a, b in pairs] + [
        str(jnp.result_type(a, b)) for a, b in pairs
    ]


def weak_types():
    x = jnp.asarray(2.0)
    return [
        x.weak_type,
        jnp.ones(2).weak_type,
        str((jnp.ones(2, jnp.bfloat16) * x).dtype),
        str((jnp.ones(2, jnp.int8) + 1).dtype),
    ]


def scalar_types():
    return [
        jnp.float32(3),
        jnp.int8(5),
        jnp.bool_(1),
        jnp.float32 == np.float32,
        str(np.dtype(jnp.int16)),
        jnp.issubdtype(jnp.int8, jnp.integer),
    ]


def limits():
    return [
        float(jnp.finfo(jnp.float32).eps),
        int(jnp.iinfo(jnp.int8).max),
        float(jnp.finfo(jnp.ones(2)).max),
        int(jnp.iinfo("int32").min),
    ]


def basic_indexing():
    x = jnp.arange(12.0).reshape(3, 4)
    return [
        x[0],
        x[1, 2],
        x[-1],
        x[:, 1:3],
        x[..., None].shape,
        x[::-1, ::2],
        x[jnp.array([0, 2])],
        x[x > 5],
    ]


def indices_out_of_bounds():
    x = jnp.arange(5.0)
    i = jnp.array([0, 7, -9, -1])
    return [
        x[10],
        x[-10],
        x[i],
        x.at[i].get(),
        x.at[i].get(mode="fill", fill_value=-1),
        jnp.take(x, i),
        x.at[i].get(mode="clip"),
    ]


def updates_out_of_bounds():
    x = jnp.zeros(4)
    return [
        x.at[9].set(1),
        x.at[jnp.array([1, 1, 7])].add(2.0),
        x.at[-1].set(5),
        x.at[jnp.array([2, 9])].set(3, mode="clip"),
    ]


def updates():
    x = jnp.arange(6.0)
    return [
        x.at[2].set(10),
        x.at[1:3].add(1),
        x.at[::2].multiply(3),
        x.at[0].min(-1),
        x.at[5].max(9),
        x.at[3].power(2),
        x.at[4].divide(8),
        x.at[2].apply(jnp.sin),
    ]


def updates_of_integers_by_floats():
    return [
        jnp.arange(3).at[0].add(2),
        jnp.zeros((2, 3)).at[1].set(jnp.arange(3)),
        jnp.ones((3, 3)).at[jnp.diag_indices(3)].set(0),
    ]


def augmented_assignment():
    x = y = jnp.arange(3)
    y += 2
    z = y
    z *= 3
    return [x, y, z]


def iteration():
    return [
        [a * 2 for a in jnp.arange(3)],
        list(map(float, jnp.ones(2))),
        sum(jnp.arange(4)),
        max(jnp.array([3, 9, 1])),
    ]


def python_numbers():
    x = jnp.arange(4.0)
    return [
        float(x[2]),
        int(x.sum()),
        bool(x[0] == 0),
        x.tolist(),
        x[3].item(),
        len(x),
        range(int(x[2]))[-1],
        f"{x[1]:.2f}",
    ]


def representations():
    return [
        repr(jnp.arange(3)),
        repr(jnp.float32(1.5)),
        str(jnp.ones((2, 2))),
        repr(jnp.array([True])),
        repr(jnp.zeros((0, 3))),
    ]


def weak_representation():
    return [repr(jnp.asarray(1.0)), repr(jnp.arange(3) * 1)]


def methods():
    x = jnp.array([[3.0, 1.0], [2.0, 4.0]])
    return [
        x.sum(),
        x.mean(axis=0),
        x.max(1),
        x.argmin(),
        x.T,
        x.reshape(4),
        x.reshape(-1, 1),
        x.ravel(),
        x.astype(int),
        x.transpose(1, 0),
        x.dot(x),
        x.std(),
        x.var(ddof=1),
        x.cumsum(0),
        x.clip(2, 3),
        x.round(),
        x.sort(0),
        x.any(),
        x.all(),
        x.flatten(),
        x.squeeze(),
        x.swapaxes(0, 1),
        x.trace(),
        x.diagonal(),
        x.prod(),
        x.repeat(2),
        x.take(jnp.array([0, 3])),
        x.copy(),
        x.conj(),
        x.real,
        x.imag,
        x.nonzero(),
    ]


def attributes():
    x = jnp.ones((2, 3))
    return [
        x.shape,
        x.ndim,
        x.size,
        str(x.dtype),
        x.nbytes,
        x.itemsize,
        x.aval.shape,
        x.is_fully_addressable,
        len(x.devices()),
        len(x.addressable_shards),
        isinstance(x, jax.Array),
        isinstance(np.ones(2), jax.Array),
    ]


def numpy_takes_them():
    x = jnp.arange(3.0)
    out = np.asarray(x)
    copy = np.array(x)
    copy[0] = 5
    return [
        type(out) is np.ndarray,
        out,
        copy,
        np.sin(x),
        np.concatenate([x, x]),
        np.float32(2) * x,
        np.arange(3.0) + x,
        np.sum(x),
    ]


def comparisons():
    x = jnp.arange(3)
    return [
        x == 1,
        x != x,
        x < 2,
        x >= 1,
        (x > 0) & (x < 2),
        ~(x > 1),
        x ^ 1,
        x << 2,
        x == None,  # noqa: E711
        x is None,
    ]


def where_and_select():
    x = jnp.arange(-2, 3)
    return [
        jnp.where(x > 0, x, 0),
        jnp.where(x > 0, x, 0.5),
        jnp.where(x > 0),
        jnp.nonzero(x, size=6, fill_value=9),
        jnp.select([x < 0, x > 0], [x, x * 2.0], 7),
    ]


def reductions():
    x = jnp.arange(6).reshape(2, 3)
    return [
        jnp.sum(x),
        jnp.mean(x),
        jnp.std(x, axis=1),
        jnp.prod(x[1:]),
        jnp.max(x, initial=4),
        jnp.sum(x, where=x > 2),
        jnp.cumsum(x),
        jnp.any(x),
        jnp.median(x),
        jnp.ptp(x),
        jnp.sum(x == 2),
        jnp.mean(x > 1),
    ]


def small_integers_sum():
    return [
        jnp.sum(jnp.ones(3, jnp.int8)),
        jnp.sum(jnp.ones(3, bool)),
        jnp.cumsum(jnp.ones(3, jnp.uint8)),
        jnp.sum(jnp.ones(4, jnp.float16)),
        jnp.mean(jnp.ones(4, jnp.float16)),
    ]


def sorting():
    x = jnp.array([3.0, 1.0, 2.0])
    return [
        jnp.sort(x),
        jnp.argsort(-x),
        jnp.argmax(x),
        jnp.unique(jnp.array([3, 1, 3])),
        jnp.searchsorted(jnp.arange(4.0), 2.5),
        jax.lax.top_k(x, 2),
        jnp.flip(x),
        jnp.lexsort((x, -x)),
    ]


def joining():
    a, b = jnp.ones((2, 2)), jnp.arange(2)
    return [
        jnp.concatenate([a, a], 1),
        jnp.stack([b, b * 2]),
        jnp.vstack([a, b]),
        jnp.hstack([b, 1.5]),
        jnp.split(jnp.arange(6), 3),
        jnp.append(b, 9),
        jnp.tile(b, 2),
        jnp.pad(b, 1),
        jnp.block([[a, a], [a, a]]),
        jnp.array([b, b]),
        jnp.column_stack([b, b]),
    ]


def linear_algebra():
    a = jnp.array([[4.0, 1.0], [1.0, 3.0]])
    b = jnp.array([1.0, 2.0])
    return [
        a @ b,
        jnp.dot(b, b),
        jnp.linalg.solve(a, b),
        jnp.linalg.inv(a),
        jnp.linalg.det(a),
        jnp.linalg.norm(a),
        jnp.linalg.cholesky(a),
        jnp.linalg.eigvalsh(a),
        jnp.outer(b, b),
        jnp.einsum("ij,j->i", a, b),
        jnp.tensordot(a, a, 1),
        jnp.kron(b, b),
        jnp.linalg.slogdet(a),
        jnp.vdot(b, b),
        jnp.matmul(a, a, precision="highest"),
        jnp.linalg.qr(a)[1].shape,
        jnp.linalg.matrix_rank(a),
    ]


def products_of_integers():
    i = jnp.arange(4).reshape(2, 2)
    return [
        i @ i,
        i @ jnp.ones(2),
        jnp.dot(i, i, preferred_element_type=jnp.float32),
        jnp.einsum("ij->", i),
    ]


def failures_are_nan():
    a = jnp.array([[1.0, 2.0], [2.0, 1.0]])
    return [
        jnp.linalg.cholesky(a),
        jnp.isnan(jnp.log(-1.0)),
        jnp.array(1.0) / 0,
        jnp.linalg.solve(jnp.zeros((2, 2)), jnp.ones(2)).shape,
    ]


def functions_of_numbers():
    return [
        jnp.sin(1.0),
        jnp.log(3),
        jnp.exp(2),
        jnp.sqrt(2),
        jnp.add(1, 2),
        jnp.maximum(1, 2.5),
        jnp.power(2, 3),
        jnp.abs(-3),
        jnp.floor(2.5),
        jnp.sign(-2.0),
        jnp.hypot(3, 4),
        jnp.square(3),
    ]


def complex_numbers():
    z = jnp.array([1 + 2j, 3 - 1j])
    return [
        z.dtype == jnp.complex64,
        jnp.abs(z),
        z.conj(),
        z.real,
        jnp.angle(z),
        z * 2,
        jnp.exp(1j * jnp.pi),
    ]


def errors_by_kind():
    found = []
    for f in (
        lambda: jnp.ones(3) + jnp.ones(2),
        lambda: hash(jnp.ones(2)),
        lambda: bool(jnp.ones(2)),
        lambda: len(jnp.float32(1)),
        lambda: jnp.ones(3).reshape(2),
    ):
        try:
            f()
            found.append(None)
        except (TypeError, ValueError) as error:
            found.append(type(error) in (TypeError, ValueError))
    return found


def without_axes():
    one = jnp.asarray(1.0)
    return [
        [jnp.clip(1.0, 0, 2), jnp.clip(3, None, 2.5), jnp.clip(1, 2)],
        [one.at[()].add(2), one.at[...].set(3), jax.jit(lambda x: x.at[()].multiply(2))(one)],
        jax.grad(lambda x: one.at[()].set(x * x))(2.0),
    ]
