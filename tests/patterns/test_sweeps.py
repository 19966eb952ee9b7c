"""Sparse matrices of derivatives against dense ones: of all primitives in tests/samples, and of the programs in tests/programs."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core import tree
from fungrad.core.errors import MissingRuleError
from tests.programs import PROGRAMS, weighted
from tests.samples import rows

ROWS = [
    row
    for row in rows()
    if "jvp" not in row.gaps and row.primitive.differentiable and not row.primitive.effect
]


def of_parts(function, operands, fixed):
    """Return a function of real vectors and where to evaluate it: of real and imaginary parts, to real and imaginary parts."""
    moving = [
        i for i, x in enumerate(operands) if np.asarray(x).dtype.kind in "fc" and i not in fixed
    ]
    x = [
        np.stack([operands[i].real, operands[i].imag])
        if np.iscomplexobj(operands[i])
        else operands[i]
        for i in moving
    ]

    def real(x, *others):
        given = list(operands)
        for i, other in zip([i for i in range(len(operands)) if i not in moving], others):
            given[i] = other
        for i, part in zip(moving, x, strict=True):
            given[i] = part[0] + 1j * part[1] if np.iscomplexobj(operands[i]) else part
        out = [y for y in tree.leaves(function(*given)) if y.dtype.kind in "fc"]
        return [
            z for y in out for z in ([fnp.real(y), fnp.imag(y)] if y.dtype.kind == "c" else [y])
        ]

    return real, x, [np.asarray(x) for i, x in enumerate(operands) if i not in moving]


def dense(f, x, *others):
    """Return the Jacobian as one matrix, or None if the function has none."""
    value = f(x, *others)
    full = fg.jacfwd(f)(x, *others)
    blocks = [
        np.hstack(
            [np.reshape(b, (y.size, a.size)) for a, b in zip(x, tree.leaves(row), strict=True)]
        )
        for y, row in zip(value, full, strict=True)
    ]
    return np.vstack(blocks) if blocks else None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_primitives(row):
    f, x, others = of_parts(row.primitive, row.operands, row.fixed)
    if not x:
        pytest.skip("no operand has a derivative")
    try:
        expected = dense(f, x, *others)
    except MissingRuleError:
        pytest.skip("it has no forward mode")
    if expected is None:
        pytest.skip("no result has a derivative")
    scale = max(1.0, np.max(np.abs(expected), initial=0))
    for found in (
        fg.sparse_jacobian(f)(x, *others),  # indices are constants
        fg.jit(fg.sparse_jacobian(f))(x, *others),  # indices are not known
        fg.sparse_jacobian(f, mode="rows")(x, *others),
    ):
        eps = 1e-9 if found.dtype == np.float64 else 1e-3 if found.dtype == np.float32 else 1e-2
        np.testing.assert_allclose(found.toarray(), expected, rtol=eps, atol=eps * scale)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    program = PROGRAMS[name]
    f, x, others = of_parts(program.changed, program.args, ())
    expected = dense(f, x, *others)
    found = fg.sparse_jacobian(f)(x, *others)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_hessians_of_programs(name):
    program = PROGRAMS[name]
    total = weighted(program.changed, fnp)
    f, x, others = of_parts(total, program.args, ())
    scalar = lambda x, *others: f(x, *others)[0]
    full = fg.hessian(scalar)(x, *others)
    expected = np.block(
        [[np.reshape(b, (a.size, c.size)) for c, b in zip(x, row)] for a, row in zip(x, full)]
    )
    found = fg.sparse_hessian(scalar)(x, *others)
    scale = max(1.0, np.max(np.abs(expected), initial=0))
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-8, atol=1e-9 * scale)
