"""Cells about arguments that JAX's functions have and NumPy's have not, and about what they are by default."""

import jax
import jax.numpy as jnp
from jax.scipy import linalg, special

A = jnp.array([[4.0, 1.0], [2.0, 5.0]])
X = jnp.arange(3.0)
BYTES = jnp.array([100, 100], jnp.int8)


def polynomials():
    u, v = jnp.array([1.0, 5.0, 6.0, 1.0]), jnp.array([1.0, 2.0])
    return [
        jnp.polymul(jnp.array([0.0, 1.0]), jnp.array([0.0, 2.0])),
        jnp.polymul(jnp.array([0, 1, 2]), jnp.array([0, 2]), trim_leading_zeros=True),
        jnp.polymul(jnp.array([0]), jnp.array([0]), trim_leading_zeros=True),
        jnp.polydiv(u, v),
        jnp.polydiv(u, v, trim_leading_zeros=True),
        jnp.polydiv(v, v, trim_leading_zeros=True),
        jnp.polydiv(jnp.array([1]), jnp.array([1, 2])),
        jax.jit(jnp.polydiv)(u, v),
    ]


def matrices_that_are_not_symmetric():
    return [
        jnp.linalg.cholesky(A),
        jnp.linalg.cholesky(A, upper=True),
        jnp.linalg.cholesky(A, symmetrize_input=False),
        linalg.cholesky(A),
        jnp.linalg.eigh(A).eigenvalues,
        jnp.linalg.eigh(A, "U")[0],
        jnp.linalg.eigh(A, symmetrize_input=False)[0],
        jnp.linalg.eigh(A, "U", symmetrize_input=False)[0],
        jnp.linalg.eigvalsh(A),
        jnp.linalg.eigvalsh(A, symmetrize_input=False),
        linalg.eigh(A, eigvals_only=True, turbo=False),
        linalg.eigh(A, lower=False)[0],
        jax.lax.linalg.cholesky(A),
        jax.lax.linalg.eigh(A, symmetrize_input=False, lower=False)[1],
        jax.vmap(lambda x: jnp.linalg.eigh(x)[0])(jnp.stack([A, A.T])),
    ]


def derivatives_of_these():
    return [
        jax.grad(lambda x: jnp.linalg.cholesky(x).sum())(A),
        jax.grad(lambda x: jnp.linalg.eigvalsh(x)[0])(A),
        jax.grad(lambda x: linalg.eigh(x, eigvals_only=True)[0])(A),
        jax.grad(lambda x: linalg.expm(x).sum())(jnp.zeros((2, 2))),
    ]


def solutions():
    ones, eye = jnp.ones((3, 2)), jnp.eye(2)
    line = jnp.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    return [
        jnp.linalg.lstsq(ones, X)[1],
        jnp.linalg.lstsq(ones, X, numpy_resid=True)[1],
        jnp.linalg.lstsq(ones.T, X[:2])[:2],
        jnp.linalg.lstsq(line, jnp.array([[0.0, 1.0], [1.0, 2.0], [3.0, 0.0]]))[1].round(3),
        linalg.solve(eye, jnp.ones(2), debug=True),
        linalg.solve_triangular(eye, jnp.ones(2), debug=True),
        linalg.solve_sylvester(eye, eye, A),
        linalg.solve_sylvester(eye, eye, A, tol=3.0),
        linalg.solve_sylvester(eye, -eye, A),
        jax.scipy.sparse.linalg.gmres(eye, jnp.ones(2), solve_method="incremental")[0],
        linalg.eigh_tridiagonal(jnp.ones(3), jnp.ones(2), eigvals_only=True, key=None),
    ]


def functions_of_matrices():
    return [
        linalg.expm(jnp.array([[1.0, 2.0], [0.0, 3.0]]), upper_triangular=True),
        linalg.expm(jnp.zeros((2, 2))),
        linalg.expm(10 * A, max_squarings=2),
        linalg.expm(jnp.eye(2) * -1e8),
        linalg.dft(3, dtype=jnp.complex64),
        linalg.polar(A, max_iterations=20)[0],
    ]


def elements_along_an_axis():
    i, x = jnp.array([[7], [-1]]), jnp.arange(3)
    return [
        jnp.take_along_axis(A, i, 1),
        jnp.take_along_axis(A, i.astype(jnp.int8), 1, fill_value=9.0),
        jnp.take_along_axis(A, i, 1, mode="clip"),
        jnp.take_along_axis(A, -i, 1, mode="clip"),
        jnp.take_along_axis(A, i - 6, 1, mode="promise_in_bounds"),
        jnp.take_along_axis(A, i - 6, 1, wrap_negative_indices=False),
        jnp.take_along_axis(x, jnp.array([1, -1]), 0, wrap_negative_indices=False),
        jnp.take_along_axis(A, jnp.array([3, -1]), None),
        jnp.take_along_axis(x, jnp.array([7])),
        jax.jit(lambda x, i: jnp.take_along_axis(x, i, 1, mode="clip"))(A, i),
    ]


def places_out_of_bounds():
    i, far = jnp.array([-1, 1]), jnp.array([-9, 1, 7])
    x = X
    return [
        x.at[far].get(mode="promise_in_bounds"),
        x.at[7].get(mode="promise_in_bounds"),
        x.at[-7].get(mode=jax.lax.GatherScatterMode.PROMISE_IN_BOUNDS),
        x.at[far].set(9.0, mode="promise_in_bounds"),
        x.at[i].get(wrap_negative_indices=False),
        x.at[i].get(wrap_negative_indices=False, mode="fill", fill_value=-5.0),
        x.at[-1].get(wrap_negative_indices=False, mode="fill"),
        x.at[-2:].get(wrap_negative_indices=False),
        x.at[i].set(9.0, wrap_negative_indices=False),
        x.at[i].set(9.0, wrap_negative_indices=False, mode="clip"),
        x.at[-1].add(9.0, wrap_negative_indices=False),
        x.at[jnp.array([True, False, True])].set(9.0, wrap_negative_indices=False),
        A.at[..., i].get(wrap_negative_indices=False, mode="fill"),
        A.at[None, i, 0].multiply(3.0, wrap_negative_indices=False),
        jax.jit(lambda x, i: x.at[i].add(1.0, wrap_negative_indices=False))(x, i),
        jax.jit(lambda x, i: x.at[i].get(mode="promise_in_bounds"))(x, far),
        jax.grad(
            lambda x: x.at[i].get(wrap_negative_indices=False, mode="fill", fill_value=0).sum()
        )(x),
    ]


def what_is_left_of_arrays():
    gone = jnp.array([-1, 0])
    return [
        jnp.delete(X, gone, assume_unique_indices=True),
        jax.jit(lambda x, i: jnp.delete(x, i, assume_unique_indices=True))(jnp.arange(5), gone),
        jnp.delete(A, jnp.array([0]), 1, assume_unique_indices=True),
        jnp.delete(X, jnp.array([7, 0]), assume_unique_indices=True),
        jnp.delete(X, slice(0, 2), assume_unique_indices=True),
        jnp.mask_indices(3, jnp.triu, size=4),
        jnp.mask_indices(3, jnp.triu, size=8),
        jnp.mask_indices(3, jnp.triu, 1),
    ]


def dtypes_of_results():
    pair = jnp.array([[1], [1]])
    return [
        jnp.argsort(jnp.array([3.0, 1.0, 2.0]), dtype=jnp.int16),
        jnp.argsort(jnp.array([3.0, 1.0, 2.0]), descending=True),
        jnp.dstack([jnp.arange(2), jnp.arange(2)], dtype=jnp.float32),
        jnp.stack([jnp.arange(2), jnp.arange(2)], dtype=jnp.float16),
        jnp.ravel_multi_index(pair, (2, 3), dtype=jnp.int8),
        jnp.ravel_multi_index(pair, (2, 300)),
        jnp.sum(BYTES, promote_integers=False),
        jnp.prod(BYTES, promote_integers=False),
        jnp.sum(BYTES > 0, promote_integers=False),
        jnp.sum(BYTES, dtype=jnp.int16, promote_integers=False),
        BYTES.sum(promote_integers=False),
    ]


def products_of_integers_of_eight_bits():
    wide = {"preferred_element_type": jnp.int32}
    return [
        jnp.dot(BYTES, BYTES, **wide),
        jnp.vdot(BYTES, BYTES, **wide),
        jnp.inner(BYTES, BYTES, **wide),
        jnp.matmul(BYTES, BYTES, **wide),
        jnp.vecdot(BYTES, BYTES, **wide),
        jnp.tensordot(BYTES, BYTES, 1, **wide),
        jnp.einsum("i,i", BYTES, BYTES, **wide),
        jnp.convolve(BYTES, BYTES, **wide),
        jnp.correlate(BYTES, BYTES, **wide),
        jax.lax.dot(BYTES, BYTES, **wide),
        jnp.dot(BYTES, BYTES, preferred_element_type=jnp.float32),
        jnp.dot(X, X, preferred_element_type=jnp.float16),
    ]


def sums_of_exponentials():
    some = jnp.array([True, False, True])
    y = jnp.arange(6.0).reshape(2, 3)
    weights = jnp.array([1.0, 2.0, 3.0])
    return [
        special.logsumexp(X, where=some),
        special.logsumexp(X, where=~some & some),
        special.logsumexp(y, 1, b=weights, where=some, keepdims=True, return_sign=True),
        special.logsumexp(X, 0, where=jnp.stack([some, ~some])),
        special.logsumexp(jnp.arange(3), where=some),
        special.logsumexp(jnp.array([1.0, jnp.nan]), where=some[:2]),
        jax.grad(lambda x: special.logsumexp(x, where=some))(X),
        jnp.abs(special.sph_harm_y(jnp.array([1]), jnp.array([0]), X[1:2], X[1:2], n_max=3)),
    ]
