"""The nearest of some vectors: SciPy's values, and derivatives of the distances."""

import numpy as np
import pytest
import scipy.cluster.vq

import fungrad as fg
from fungrad.scipy.cluster.vq import vq

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("features", [None, 1, 3])
def test_vq(features):
    tail = () if features is None else (features,)
    x, codes = RNG.normal(size=(9, *tail)), RNG.normal(size=(4, *tail))
    expected = scipy.cluster.vq.vq(x, codes)
    for found in (vq(x, codes), fg.jit(vq)(x, codes)):
        for a, b in zip(found, expected, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, 1e-12)
    fg.test_util.check_grads(lambda x, codes: vq(x, codes)[1], (x, codes), 2)
    batch = fg.vmap(lambda x: vq(x, codes))(np.stack([x, 2 * x]))
    np.testing.assert_array_equal(batch[0][1], scipy.cluster.vq.vq(2 * x, codes)[0])


def test_errors():
    for x, codes in [((4, 2), (3, 3)), ((4,), (3, 1)), ((4, 2, 2), (3, 2, 2))]:
        with pytest.raises(ValueError, match="of one axis, or of two with as many features"):
            fg.jit(vq)(np.ones(x), np.ones(codes))
