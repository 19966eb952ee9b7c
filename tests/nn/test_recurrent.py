"""LSTM and GRU of fungrad.nn against their equations, a gate at a time."""

import functools

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax, nn
from fungrad.test_util import check_agreement
from tests.compile.compiling import compare, needs_compiler
from tests.optional import BFLOAT16, eps_of

T, B, I, H = 6, 4, 3, 5
RNG = np.random.default_rng(0)
DTYPES = [np.float16, BFLOAT16, np.float32, np.float64]
XS = RNG.normal(size=(T, B, I))
STATE = RNG.normal(size=(B, H)), RNG.normal(size=(B, H))
LSTM = tuple(RNG.normal(size=s) for s in ((I, 4 * H), (H, 4 * H), (4 * H,)))
GRU = tuple(RNG.normal(size=s) for s in ((I, 3 * H), (H, 3 * H), (3 * H,), (H,)))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gate(k, w):
    return w[..., k * H : (k + 1) * H]


def lstm_reference(w_x, w_h, b, h, c, x):
    i, f, g, o = (x @ gate(k, w_x) + h @ gate(k, w_h) + gate(k, b) for k in range(4))
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru_reference(w_x, w_h, b, b_n, h, x):
    r, z = (sigmoid(x @ gate(k, w_x) + h @ gate(k, w_h) + gate(k, b)) for k in range(2))
    n = np.tanh(x @ gate(2, w_x) + gate(2, b) + r * (h @ gate(2, w_h) + b_n))
    return (1 - z) * n + z * h


def test_lstm_cell_under_transforms():
    f = lambda *a: fnp.concatenate(nn.lstm_cell(a[:3], (a[3], a[4]), a[5])[0], -1)
    g = lambda *a: np.concatenate(lstm_reference(*a), -1)
    check_agreement(f, g, (*LSTM, *STATE, XS[0]), rtol=1e-9)


def test_gru_cell_under_transforms():
    f = lambda *a: nn.gru_cell(a[:4], a[4], a[5])[0]
    check_agreement(f, gru_reference, (*GRU, STATE[0], XS[0]), rtol=1e-9)


def lstm_of(w_x, w_h, b, h, c, xs):
    ys = []
    for x in xs:
        h, c = lstm_reference(w_x, w_h, b, h, c, x)
        ys.append(h)
    return np.concatenate([np.stack(ys), h[None], c[None]])


def gru_of(w_x, w_h, b, b_n, h, xs):
    ys = []
    for x in xs:
        h = gru_reference(w_x, w_h, b, b_n, h, x)
        ys.append(h)
    return np.concatenate([np.stack(ys), h[None]])


def run_lstm(w_x, w_h, b, h, c, xs, **options):
    (h, c), ys = nn.lstm((w_x, w_h, b), xs, (h, c), **options)
    return fnp.concatenate([ys, h[None], c[None]])


def run_gru(w_x, w_h, b, b_n, h, xs, **options):
    h, ys = nn.gru((w_x, w_h, b, b_n), xs, h, **options)
    return fnp.concatenate([ys, h[None]])


SEQUENCES = {
    "lstm": (run_lstm, lstm_of, (*LSTM, *STATE, XS)),
    "gru": (run_gru, gru_of, (*GRU, STATE[0], XS)),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequence_under_transforms(name):
    check_agreement(*SEQUENCES[name], rtol=1e-8)


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequence_is_a_scan_of_cells(name):
    _, _, (*params, xs) = SEQUENCES[name]
    cell, sequence = getattr(nn, f"{name}_cell"), getattr(nn, name)
    params = tuple(params[: 3 if name == "lstm" else 4])
    zero = np.zeros((B, H))
    first = (zero, zero) if name == "lstm" else zero
    for reverse in (False, True):
        expected = lax.scan(functools.partial(cell, params), first, xs, reverse=reverse)
        found = sequence(params, xs, reverse=reverse)
        batch_first = sequence(params, xs.swapaxes(0, 1), axis=1, reverse=reverse)
        batch_first = batch_first[0], batch_first[1].swapaxes(0, 1)
        for other in (found, batch_first, sequence(params, xs, first, axis=-3, reverse=reverse)):
            for x, y in zip(*map(fg.tree.leaves, (other, expected)), strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)
    alone = sequence(params, xs[:, 0])
    np.testing.assert_allclose(alone[1], sequence(params, xs)[1][:, 0], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SEQUENCES)
def test_precisions(name, dtype):
    """States are float32 at least between steps, so the result is rounded once."""
    f, reference, given = SEQUENCES[name]
    given = [np.asarray(a, dtype) for a in given]
    expected = reference(*[a.astype(float) for a in given])
    eps = eps_of(dtype)
    for found in (f(*given), fg.jit(f)(*given)):
        assert found.dtype == np.dtype(dtype)
        np.testing.assert_allclose(
            found.astype(float), expected, rtol=eps, atol=40 * min(eps, 2e-7)
        )
    gradient = fg.grad(lambda *a: fnp.sum(fnp.astype(f(*a), float)), 0)(*given)
    assert gradient.dtype == np.dtype(dtype)
    expected = fg.grad(lambda *a: reference(*a).sum(), 0)(*[a.astype(float) for a in given])
    np.testing.assert_allclose(gradient.astype(float), expected, rtol=4 * eps, atol=20 * eps)


def test_dtypes_of_cells_are_those_of_their_operands():
    half = fg.tree.map(lambda a: a.astype(np.float16), (LSTM, STATE, XS[0]))
    (h, c), y = nn.lstm_cell(*half)
    assert {h.dtype, c.dtype, y.dtype} == {np.dtype(np.float16)}
    assert nn.lstm_cell(LSTM, *half[1:])[1].dtype == np.float64


@needs_compiler
@pytest.mark.parametrize("name", SEQUENCES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels(name, dtype):
    f, _, given = SEQUENCES[name]
    given = tuple(np.asarray(a, dtype) for a in given)
    compare(f, given, ulps=64)
    compare(fg.grad(lambda *a: (f(*a) ** 2).sum(), tuple(range(len(given)))), given, ulps=512)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: nn.lstm_cell(LSTM[:2], STATE, XS[0]), "lstm_cell: .*parameters are of shapes"),
        (lambda: nn.lstm_cell(GRU[:3], STATE, XS[0]), "lstm_cell: .*parameters are of shapes"),
        (lambda: nn.gru_cell(GRU[:3], STATE[0], XS[0]), "gru_cell: .*parameters are of shapes"),
        (lambda: nn.lstm_cell(LSTM, STATE, XS[0, :, :2]), "lstm_cell: .*parameters are of shapes"),
        (lambda: nn.lstm_cell(LSTM, STATE, 1.0), "lstm_cell: .*parameters are of shapes"),
        (lambda: nn.lstm_cell(LSTM, STATE, XS[0, :2]), r"lstm_cell: states are of shape \(2, 5\)"),
        (
            lambda: nn.gru_cell(GRU, STATE[0][:, :2], XS[0]),
            r"gru_cell: states are of shape \(4, 5\)",
        ),
        (lambda: nn.gru(GRU, XS, STATE[0][0]), r"gru: states are of shape \(4, 5\)"),
        (lambda: nn.lstm(LSTM, XS, axis=2), "lstm: axis 2 of 3 is not that of time"),
        (lambda: nn.gru(GRU, XS, axis=-1), "gru: axis -1 of 3 is not that of time"),
        (lambda: nn.gru(GRU, XS, axis=3), "gru: axis 3 of 3 is not that of time"),
    ],
)
def test_errors(call, says):
    with pytest.raises(ValueError, match=rf"nn\.{says}"):
        call()
