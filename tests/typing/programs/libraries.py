"""What functions of fungrad.scipy, nn, random, training, sharding and extend take and return."""

from typing import assert_type

import numpy as np

from fungrad import nn, random, scipy, sharding, training
from fungrad.extend import core
from fungrad.typing import Array

x: Array = np.ones((3, 3))

assert_type(scipy.special.gammaln(x), Array)
assert_type(scipy.special.gammainc(2.0, x), Array)
assert_type(scipy.special.sici(x), tuple[Array, Array])
assert_type(scipy.special.logsumexp(x, axis=0), Array)
assert_type(scipy.special.logsumexp(x, return_sign=True), tuple[Array, Array])
assert_type(scipy.linalg.expm(x), Array)
assert_type(scipy.linalg.lu(x), tuple[Array, Array, Array])
assert_type(scipy.linalg.eigh(x), tuple[Array, Array])
assert_type(scipy.linalg.eigh(x, eigvals_only=True), Array)
assert_type(scipy.linalg.cho_solve(scipy.linalg.cho_factor(x), x), Array)
assert_type(scipy.fft.dct(x, type=2, norm="ortho"), Array)
assert_type(scipy.signal.lfilter([1.0], [1.0, 0.5], x), Array)
assert_type(scipy.signal.lfilter([1.0], [1.0, 0.5], x, zi=x), tuple[Array, Array])
assert_type(scipy.signal.welch(x, window=("tukey", 0.5)), tuple[Array, Array])
assert_type(scipy.ndimage.gaussian_filter(x, sigma=(1.0, 2.0), mode="wrap"), Array)
assert_type(scipy.integrate.quad(lambda t: t**2, 0.0, 1.0), tuple[Array, Array])
assert_type(scipy.integrate.odeint(lambda y, t: -y, x, [0.0, 1.0]), Array)
assert_type(scipy.optimize.brentq(lambda t: t - 1, 0.0, 2.0), Array)
assert_type(scipy.interpolate.CubicSpline(x[0], x)(0.5), Array)
assert_type(scipy.stats.norm.logpdf(x, scale=2.0), Array)
assert_type(scipy.stats.poisson.pmf(3, 2.0), Array)
assert_type(scipy.stats.zscore(x), Array)
row: Array = x[0]
matrix = scipy.sparse.coo_array((x[0], (x[0], x[0])), shape=(3, 3))
assert_type(matrix @ row, Array)
assert_type((matrix @ matrix).toarray(), Array)
assert_type(scipy.sparse.linalg.spsolve(matrix, x[0]), Array)
assert_type(scipy.sparse.linalg.cg(x, row, callback=lambda v: v.sum()), tuple[Array, Array])
assert_type(scipy.sparse.linalg.gmres(lambda v: x @ v, row, M=matrix), tuple[Array, Array])
assert_type(core.concrete_or_error(int, x[0, 0]), int)
sharding.Mesh(["cpu", "cpu"], "i").share("i")
scipy.optimize.minimize(lambda v: (v["a"] ** 2).sum(), {"a": x}).x

key = random.key(0)
assert_type(key, Array)
assert_type(random.normal(key, (2,)), Array)
assert_type(random.split(key, 3), Array)
assert_type(random.choice(key, 5, (2,), replace=False), Array)
assert_type(random.key_impl(key), str)

assert_type(nn.gelu(x), Array)
assert_type(nn.softmax(x, axis=-1), Array)
assert_type(nn.dropout(key, x, 0.1), Array)
assert_type(nn.losses.huber_loss(x), Array)
assert_type(nn.initializers.he_normal()(key, (2, 3)), Array)
assert_type(nn.batch_norm(x, (x, x), training=True), tuple[Array, tuple[Array, Array]])
assert_type(nn.lstm_cell({}, (x, x), x), tuple[tuple[Array, Array], Array])

for batch in training.minibatches({"x": x, "y": x}, 2, key=key):
    assert_type(batch, dict[str, Array])
assert_type(training.load("file", {"x": x}), dict[str, Array])
for i in training.progress(range(3)):
    assert_type(i, int)

scipy.special.gammaln(x, 1, 2, 3)  # error
scipy.special.gama(x)  # error
scipy.sparse.linalg.cg(x, row, callback=1)  # error
core.gensym()(1)  # error
sharding.make_mesh((2,), ("i",), devices=x)  # error
scipy.linalg.expm(x, check=False)  # error
random.normal(key, "wide")  # error
random.normal((2,), key)  # error
nn.softmax(x, axes=0)  # error
nn.initializers.he_normal()(key)  # error
scipy.signal.welch(x, nperseg="long")  # error
