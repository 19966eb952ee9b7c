"""`einsum` and its relatives."""

import numpy as np


def attention(q, k, v):
    scores = np.einsum("bqd,bkd->bqk", q, k) / np.sqrt(q.shape[-1])
    w = np.exp(scores - scores.max(axis=-1, keepdims=True))
    w /= w.sum(axis=-1, keepdims=True)
    return np.einsum("bqk,bkd->bqd", w, v)


def causal_attention(q, k, v):
    scores = q @ k.T
    scores[np.triu_indices(len(q), 1)] = -np.inf
    w = np.exp(scores - scores.max(axis=1)[:, None])
    return w / w.sum(axis=1, keepdims=True) @ v


def bilinear_form(x, a, y):
    return np.einsum("i,ij,j", x, a, y) + np.einsum("ni,ij,nj->n", a, a, a)


def tensor_train(a, b, c):
    return np.einsum("ia,ajb,bk->ijk", a, b, c, optimize=True)


def batched_traces(a, b):
    return np.einsum("nij,nji->n", a, b) + np.trace(a, axis1=1, axis2=2) * np.einsum("nii->n", b)


def diagonals_and_sums(a):
    return np.einsum("ii->i", a) * np.einsum("ij->j", a) + np.einsum("...j,...j->...", a, a)


def contracted(a, b):
    return np.tensordot(a, b, axes=([1, 2], [0, 1])) + np.tensordot(a, b, 2).sum()


def products_of_vectors(x, y):
    return np.outer(x, y) + np.inner(x, y) - np.vdot(x, y) * np.dot(x, x)


def cross_and_triple(a, b, c):
    return np.cross(a, b) * np.sum(a * np.cross(b, c), axis=-1, keepdims=True)


def stress_invariants(s):
    deviator = s - np.trace(s) / 3 * np.eye(3)
    j2 = 0.5 * np.einsum("ij,ij->", deviator, deviator)
    return np.sqrt(3 * j2), np.einsum("ij,jk,ki", deviator, deviator, deviator) / 3


def complex_overlap(psi, operator):
    return np.einsum("i,ij,j", psi.conj(), operator, psi) / np.vdot(psi, psi)


def matrix_product_state(tensors, bits=(0, 1, 1)):
    left = np.ones(tensors.shape[2])
    for t, b in zip(tensors, bits):
        left = left @ t[b]
    return left.sum() ** 2


def gates_on_a_register(psi, angle):
    state = psi.reshape(2, 2, 2)
    c, s = np.cos(angle), np.sin(angle)
    gate = np.array([[c, -1j * s], [-1j * s, c]])
    for axis in range(3):
        state = np.moveaxis(np.tensordot(gate, state, axes=(1, axis)), 0, axis)
    state[1, 1] *= -1
    return np.abs(state.ravel()) ** 2


def vector_products(m, x):
    return np.matvec(m, x) + np.vecmat(x, m) * np.vecdot(x, x)[..., None]


def inputs(rng):
    n = rng.normal
    z = n(size=8) + 1j * n(size=8)
    return {
        "attention": (n(size=(2, 3, 2)), n(size=(2, 4, 2)), n(size=(2, 4, 3))),
        "causal_attention": (n(size=(3, 2)), n(size=(3, 2)), n(size=(3, 2))),
        "bilinear_form": (n(size=3), n(size=(3, 3)), n(size=3)),
        "tensor_train": (n(size=(2, 2)), n(size=(2, 3, 2)), n(size=(2, 2))),
        "batched_traces": (n(size=(2, 3, 3)), n(size=(2, 3, 3))),
        "diagonals_and_sums": (n(size=(3, 3)),),
        "contracted": (n(size=(2, 3, 2)), n(size=(3, 2, 4))),
        "products_of_vectors": (n(size=3), n(size=3)),
        "cross_and_triple": (n(size=(2, 3)), n(size=(2, 3)), n(size=(2, 3))),
        "stress_invariants": (n(size=(3, 3)),),
        "complex_overlap": (z[:3], n(size=(3, 3)) + 1j * n(size=(3, 3))),
        "matrix_product_state": (n(size=(3, 2, 2, 2)),),
        "gates_on_a_register": (z, np.float64(0.7)),
        "vector_products": (n(size=(2, 3, 3)), n(size=(2, 3))),
    }


NOT_OVERRIDABLE = {
    "gates_on_a_register": "np.array",
}
LOOKS_AT_VALUES = {}
