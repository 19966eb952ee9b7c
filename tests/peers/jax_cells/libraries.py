"""Cells about jax.random, jax.nn, jax.scipy and the rest of the package."""

import jax
import jax.numpy as jnp
from jax import lax, random
from jax.experimental.ode import odeint
from jax.scipy.cluster import vq
from jax.scipy.spatial.transform import Rotation, Slerp


def keys():
    key = random.key(42)
    a, b = random.split(key)
    return [
        random.key_data(a),
        random.key_data(b),
        random.PRNGKey(0),
        random.split(random.PRNGKey(1), 3),
        random.key_data(random.fold_in(key, 7)),
        key.shape,
    ]


def keys_of_bytes():
    return [
        random.PRNGKey(0).dtype == jnp.uint32,
        jnp.issubdtype(random.key(0).dtype, jax.dtypes.prng_key),
    ]


def normals():
    key = random.key(0)
    return [
        random.normal(key),
        random.normal(key, (3,)),
        random.normal(key, (2, 2)),
        random.normal(random.PRNGKey(3), (2,)),
    ]


def uniforms():
    key = random.key(1)
    return [
        random.uniform(key, (3,)),
        random.uniform(key, (2,), minval=-1, maxval=1),
        random.randint(key, (4,), 0, 10),
        random.bits(key, (2,)),
        random.bernoulli(key, 0.3, (5,)),
    ]


def distributions():
    key = random.key(2)
    return [
        random.exponential(key, (2,)),
        random.gumbel(key, (2,)),
        random.laplace(key, (2,)),
        random.categorical(key, jnp.zeros(4), shape=(3,)),
        random.truncated_normal(key, -1, 1, (2,)),
        random.cauchy(key, (2,)),
        random.rademacher(key, (4,)),
        random.logistic(key, (2,)),
    ]


def gammas():
    key = random.key(3)
    return [
        random.gamma(key, 2.0, (2,)),
        random.beta(key, 2.0, 3.0, (2,)),
        random.poisson(key, 4.0, (3,)),
        random.dirichlet(key, jnp.ones(3)),
        random.t(key, 5.0, (2,)),
    ]


def choices():
    key = random.key(4)
    return [
        random.permutation(key, 5),
        random.permutation(key, jnp.arange(4.0)),
        random.choice(key, jnp.arange(5), (3,)),
        random.choice(key, 5, (2,), replace=False),
        random.multivariate_normal(key, jnp.zeros(2), jnp.eye(2)),
    ]


def random_under_vmap_and_jit():
    keys = random.split(random.key(0), 3)
    return [
        jax.vmap(lambda k: random.normal(k, (2,)))(keys),
        jax.jit(lambda k: random.uniform(k, (2,)))(keys[0]),
    ]


def activations():
    x = jnp.linspace(-2, 2, 5)
    f = jax.nn
    return [
        f.relu(x),
        f.sigmoid(x),
        f.softplus(x),
        f.gelu(x),
        f.elu(x),
        f.silu(x),
        f.leaky_relu(x),
        f.log_sigmoid(x),
        f.softmax(x),
        f.log_softmax(x),
        f.hard_tanh(x),
        f.selu(x),
        f.celu(x),
        f.relu6(x),
        f.glu(jnp.ones(4)),
        f.gelu(x, approximate=False),
    ]


def one_hot():
    return [
        jax.nn.one_hot(jnp.array([0, 2]), 3),
        jax.nn.one_hot(1, 4, dtype=jnp.int32),
        jax.nn.logsumexp(jnp.arange(3.0)),
        jax.nn.standardize(jnp.arange(4.0)),
        jax.nn.softmax(jnp.arange(4.0), where=jnp.array([True, True, False, True])),
    ]


def attention():
    q = jnp.arange(24.0).reshape(1, 3, 2, 4) / 24
    return jax.nn.dot_product_attention(q, q, q)


def initializers():
    i, key = jax.nn.initializers, random.key(0)
    return [
        i.glorot_uniform()(key, (2, 3)),
        i.he_normal()(key, (2, 3), jnp.float32),
        i.zeros(key, (2,)),
        i.orthogonal()(key, (2, 2)),
        i.variance_scaling(1.0, "fan_in", "normal")(key, (3, 2)),
    ]


def special_functions():
    s = jax.scipy.special
    x = jnp.array([0.5, 1.5, 2.5])
    return [
        s.gammaln(x),
        s.digamma(x),
        s.erf(x),
        s.erfinv(x / 4),
        s.logsumexp(x),
        s.expit(x),
        s.logit(x / 4),
        s.xlogy(x, x),
        s.betaln(x, 2.0),
        s.i0(x),
        s.entr(x),
        s.ndtr(x),
        s.gammainc(x, 1.0),
        s.log_ndtr(x),
        s.betainc(1.0, 2.0, x / 4),
        s.polygamma(1, x),
        s.zeta(x + 1, 1.0),
        s.factorial(jnp.arange(3)),
        s.logsumexp(x, return_sign=True),
    ]


def log_densities():
    from jax.scipy import stats

    x = jnp.array([0.2, 0.5])
    return [
        stats.norm.logpdf(x),
        stats.norm.cdf(x, 0.1, 2.0),
        stats.beta.logpdf(x, 2.0, 3.0),
        stats.gamma.logpdf(x, 2.0),
        stats.t.logpdf(x, 3.0),
        stats.poisson.logpmf(jnp.array([1, 2]), 1.5),
        stats.bernoulli.logpmf(1, 0.3),
        stats.multivariate_normal.logpdf(x, jnp.zeros(2), jnp.eye(2)),
        stats.uniform.pdf(x),
        stats.laplace.cdf(x),
        stats.truncnorm.logpdf(x, -1, 1),
        stats.rankdata(x),
    ]


def solving():
    from jax.scipy import linalg

    a = jnp.array([[4.0, 1.0], [1.0, 3.0]])
    c = linalg.cho_factor(a)
    return [
        linalg.cho_solve(c, jnp.ones(2)),
        linalg.solve_triangular(jnp.tril(a), jnp.ones(2), lower=True),
        linalg.expm(a),
        linalg.lu(a)[2],
        linalg.block_diag(a, 1.0),
        linalg.eigh(a)[0],
        linalg.toeplitz(jnp.arange(3)),
        jax.scipy.sparse.linalg.cg(lambda x: a @ x, jnp.ones(2))[0],
    ]


def signals():
    x = jnp.arange(8.0)
    return [
        jnp.fft.fft(x),
        jnp.fft.rfft(x),
        jnp.fft.irfft(jnp.fft.rfft(x)),
        jnp.fft.fftfreq(4),
        jax.scipy.signal.convolve(x, jnp.ones(2)),
        jax.scipy.signal.detrend(x),
        jnp.interp(2.5, x, x * 2),
        jax.scipy.ndimage.map_coordinates(x, [jnp.array([1.5])], 1),
    ]


def minimizing():
    from jax.scipy.optimize import minimize

    found = minimize(
        lambda x: jnp.sum((x - jnp.array([1.0, 2.0])) ** 2), jnp.zeros(2), method="BFGS"
    )
    limited = minimize(
        lambda x: jnp.sum(x**2 + x**4), jnp.ones(2), method="BFGS", options={"maxiter": 1}
    )
    return [
        jnp.round(found.x, 3),
        bool(found.success),
        list(found._fields),
        [limited.nit, limited.status, limited.x, limited.jac, limited.fun],
        jax.jit(lambda x: x + 1).lower(found.x).compile()(jnp.zeros(2)).at[0].set(3.0),
    ]


def segments():
    x, i = jnp.arange(5.0), jnp.array([0, 0, 1, 3, 3])
    return [
        jax.ops.segment_sum(x, i),
        jax.ops.segment_sum(x, i, num_segments=6),
        jax.ops.segment_max(x, i, 4),
        jnp.bincount(i),
        jnp.bincount(i, length=3),
        jax.ops.segment_prod(x, i, 4),
    ]


def polynomials():
    return [
        jnp.polyval(jnp.array([1.0, 2.0, 3.0]), 2.0),
        jnp.polyfit(jnp.arange(4.0), jnp.arange(4.0) ** 2, 2).round(3),
        jnp.roots(jnp.array([1.0, -3.0, 2.0])).real.sort(),
        jnp.trapezoid(jnp.arange(4.0)),
        jnp.gradient(jnp.arange(4.0) ** 2),
        jnp.diff(jnp.arange(4) ** 2),
        jnp.vander(jnp.arange(3), 2),
    ]


def sets_and_histograms():
    x = jnp.array([1, 2, 2, 5])
    return [
        jnp.histogram(x, bins=3),
        jnp.unique(x, return_counts=True),
        jnp.isin(x, jnp.array([2])),
        jnp.digitize(x, jnp.array([2, 3])),
        jnp.intersect1d(x, jnp.array([5, 1])),
        jnp.percentile(x, 50),
        jnp.quantile(x, jnp.array([0.25])),
        jnp.cov(jnp.arange(4.0)),
        jnp.corrcoef(jnp.arange(4.0), jnp.arange(4.0) ** 2),
        jnp.average(x, weights=x),
        jnp.nanmean(jnp.array([1.0, jnp.nan])),
    ]


def vectorizing():
    f = jnp.vectorize(lambda a, b: jnp.dot(a, b), signature="(n),(n)->()")
    return [
        f(jnp.ones((3, 2)), jnp.arange(2.0)),
        jnp.apply_along_axis(jnp.sum, 1, jnp.ones((2, 3))),
        jnp.piecewise(
            jnp.arange(-1.0, 2.0), [jnp.arange(-1.0, 2.0) < 0], [lambda x: -x, lambda x: x * 2]
        ),
        jnp.meshgrid(jnp.arange(2), jnp.arange(3)),
        jnp.mgrid[0:2],
        jnp.r_[1, 2.5],
        jnp.ogrid[0:3],
        jnp.ix_(jnp.arange(2), jnp.arange(2)),
        jnp.indices((2,)),
        jnp.fromfunction(lambda i: i + 1, (3,)),
    ]


def devices():
    x = jax.device_put(jnp.ones(2))
    mesh = jax.sharding.Mesh(jax.devices()[:1], ("x",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    return [
        x,
        jax.device_put({"a": 1.0}, jax.devices()[0]),
        jax.device_put(jnp.ones(2), sharding),
        jax.device_get(x),
        jax.default_backend(),
        jax.process_index(),
        jax.block_until_ready(x),
        mesh.shape["x"],
    ]


def configuration():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    x = jnp.arange(2.0)
    jax.config.update("jax_enable_x64", before)
    return [before, x, jnp.arange(2.0), jax.config.jax_debug_nans]


def stax_network():
    from jax.example_libraries import optimizers, stax

    init, apply = stax.serial(stax.Dense(4), stax.Relu, stax.Dense(1))
    shape, params = init(random.key(0), (-1, 3))
    opt_init, opt_update, get = optimizers.adam(0.1)
    state = opt_init(params)
    grads = jax.grad(lambda p: jnp.sum(apply(p, jnp.ones((2, 3))) ** 2))(params)
    return [shape, apply(params, jnp.ones((2, 3))), get(opt_update(0, grads, state))]


def checked():
    from jax.experimental import checkify

    def f(x):
        checkify.check(x > 0, "x is {x}", x=x)
        return jnp.log(x)

    error, _ = checkify.checkify(f)(jnp.float32(-1))
    return [
        error.get() is not None,
        checkify.checkify(f)(jnp.float32(1))[0].get(),
    ]


def training():
    xs = jnp.linspace(-1, 1, 20)
    ys = 3 * xs + 0.5

    @jax.jit
    def update(params, x, y):
        loss, grads = jax.value_and_grad(lambda p: jnp.mean((p["w"] * x + p["b"] - y) ** 2))(params)
        return jax.tree.map(lambda p, g: p - 0.3 * g, params, grads), loss

    params = {"w": jnp.zeros(()), "b": jnp.zeros(())}
    for _ in range(60):
        params, loss = update(params, xs, ys)
    return [params, loss]


def multilayer_perceptron():
    sizes = [3, 8, 2]
    keys = random.split(random.key(1), len(sizes))
    params = [
        (random.normal(k, (n, m)) * 0.1, jnp.zeros(n))
        for m, n, k in zip(sizes[:-1], sizes[1:], keys, strict=False)
    ]

    def predict(params, x):
        for w, b in params[:-1]:
            x = jax.nn.relu(w @ x + b)
        w, b = params[-1]
        return jax.nn.log_softmax(w @ x + b)

    batch = jax.vmap(predict, (None, 0))
    loss = lambda p, x, y: -jnp.mean(batch(p, x) * y)
    x, y = random.normal(random.key(2), (5, 3)), jax.nn.one_hot(jnp.array([0, 1, 0, 1, 1]), 2)
    return jax.jit(jax.value_and_grad(loss))(params, x, y)


def differential_equations():
    def lotka(y, t, a, b):
        return jnp.stack([a * y[0] - b * y[0] * y[1], -y[1] + b * y[0] * y[1]])

    swing = lambda y, t: {"x": y["v"], "v": -y["x"]}
    how = {"rtol": 1e-9, "atol": 1e-9}
    with jax.enable_x64(True):
        t, start = jnp.linspace(0.0, 2.0, 5), jnp.array([1.0, 0.5])
        final = lambda y, a: odeint(lotka, y, t, a, 1.0, **how)[-1].sum()
        return [
            odeint(lotka, start, t, 1.5, 1.0, **how),
            jax.jit(jax.grad(final, (0, 1)))(start, 1.5),
            odeint(swing, {"x": jnp.ones(2), "v": jnp.zeros(2)}, t, **how),
        ]


def kalman_filter():
    a, c = jnp.array([[1.0, 0.1], [0.0, 1.0]]), jnp.array([[1.0, 0.0]])
    ys = jnp.sin(jnp.linspace(0.0, 3.0, 20))[:, None]

    def step(state, y):
        mean, cov = a @ state[0], a @ state[1] @ a.T + 0.01 * jnp.eye(2)
        s = c @ cov @ c.T + 0.1
        gain = jnp.linalg.solve(s, c @ cov).T
        error = y - c @ mean
        log_p = jax.scipy.stats.norm.logpdf(error[0], 0.0, jnp.sqrt(s[0, 0]))
        return (mean + gain @ error, cov - gain @ c @ cov), log_p

    def log_likelihood(start):
        (mean, cov), log_p = jax.lax.scan(step, (start, jnp.eye(2)), ys)
        return log_p.sum(), (mean, cov)

    return jax.jit(jax.value_and_grad(log_likelihood, has_aux=True))(jnp.zeros(2))


def game_of_life():
    world = jnp.zeros((8, 8), jnp.int32).at[1, 2].set(1).at[2, 3].set(1).at[3, 1:4].set(1)
    around = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]

    def step(world, _):
        count = sum(jnp.roll(world, shift, (0, 1)) for shift in around)
        world = jnp.where((count == 3) | ((world == 1) & (count == 2)), 1, 0)
        return world, world.sum()

    return jax.jit(lambda w: jax.lax.scan(step, w, length=12))(world)


def gauss_newton():
    t = jnp.linspace(0.0, 2.0, 15)
    data = 2.0 * jnp.exp(-1.3 * t)
    residuals = lambda p: p[0] * jnp.exp(-p[1] * t) - data

    def step(p, _):
        r, push = jax.linearize(residuals, p)
        pull = jax.linear_transpose(push, p)
        move, _ = jax.scipy.sparse.linalg.cg(lambda v: pull(push(v))[0], pull(r)[0], maxiter=10)
        return p - move, jnp.sum(r**2)

    p, losses = jax.lax.scan(step, jnp.ones(2), length=8)
    return p, losses[:4]


def images():
    x = jnp.arange(12).reshape(3, 4) ** 2
    shift = lambda t: jax.image.scale_and_translate(
        1.0 * x, (3, 4), (0, 1), jnp.ones(2), t, method="cubic"
    )
    return [
        *[jax.image.resize(x, (5, 2), m) for m in ("nearest", "linear", "lanczos3", "bicubic")],
        jax.image.resize(
            x.astype(jnp.float32),
            shape=(2, 2),
            method=jax.image.ResizeMethod.LINEAR,
            antialias=False,
        ),
        jax.vmap(lambda x: jax.image.resize(x, (2,), "linear"))(x),
        jax.jit(jax.jacobian(shift))(jnp.array([0.3, -0.2])),
    ]


def nearest_codes():
    x = jnp.array([[1.1, 2.1], [5.9, 4.8], [0.0, 0.5]])
    codes = jnp.array([[1, 2], [2, 3], [6, 5]])
    distance = lambda x: jnp.sum(vq.vq(x, codes)[1])
    return [
        vq.vq(x, codes),
        vq.vq(x[:, 0], codes[:, 0], check_finite=False),
        jax.grad(distance)(x),
        jax.jit(vq.vq)(x, codes),
    ]


def rotations():
    r = Rotation.from_euler("zxy", jnp.array([[90, 0, 0], [0, 45, 0], [10, 20, -30]]), degrees=True)
    one = Rotation.from_rotvec(jnp.array([0.3, -0.2, 0.5]))
    return [
        [one.as_matrix(), one.as_rotvec(), one.as_mrp(), one.as_quat(), one.magnitude(), one.quat],
        [r.as_matrix(), r.as_euler("xyz"), r[1].as_quat(scalar_first=True), len(r), r.single],
        (r * one).inv().as_matrix(),
        r.apply(jnp.arange(3.0), inverse=True),
        [Rotation.identity().quat, Rotation(jnp.arange(4.0)).as_quat(canonical=True)],
        Rotation.from_mrp(one.as_mrp()).as_euler("ZXZ", degrees=True),
        Rotation.from_matrix(r.as_matrix()).as_rotvec(degrees=True),
        jnp.abs(r.mean(jnp.arange(3.0)).quat),
        [Rotation.concatenate([r, r]).quat.shape, Rotation.from_euler("z", 0.5).quat],
    ]


def rotations_transformed():
    r = Rotation.from_rotvec(jnp.eye(3))
    turned = lambda v: Rotation.from_rotvec(v).apply(jnp.ones(3))
    slope = jax.grad(lambda r: r.as_rotvec().sum())(r)
    return [
        jax.jacobian(turned)(jnp.array([0.1, 0.2, 0.3])),
        jax.vmap(turned)(jnp.eye(3)),
        jax.jit(lambda r: r.inv())(r).as_matrix(),
        [type(slope) is Rotation, slope.quat],
        jax.tree.leaves(r),
    ]


def slerp():
    r = Rotation.from_euler("zxy", jnp.array([[90, 0, 0], [0, 45, 0], [0, 0, -30]]), degrees=True)
    between = Slerp.init([0, 1, 2], r)
    moved = lambda t: between(t).as_matrix()
    return [
        between(jnp.array([-0.5, 0.0, 0.5, 1.5, 2.0])).as_euler("zxy"),
        between(0.25).as_quat(),
        jax.jacfwd(moved)(jnp.array([0.5, 1.25])),
        jax.jit(moved)(0.75),
        between.timedelta,
        between.rotvecs,
    ]


def ragged_products():
    x, y = jnp.arange(15.0).reshape(5, 3), jnp.arange(24.0).reshape(2, 3, 4)
    sizes = jnp.array([3, 1])
    numbers = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0])
    sums = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], [])
    return [
        lax.ragged_dot_general(x, y, sizes, numbers),
        lax.ragged_dot_general(x, x, sizes, ragged_dot_dimension_numbers=sums),
        jax.grad(lambda x: lax.ragged_dot_general(x, y, sizes, numbers).sum())(x),
    ]


def what_directs_xla():
    x = jnp.array([[2.0, 1.0], [1.0, 3.0]])
    scaled = lax.composite(lambda x, *, by: by * x, name="mine.scaled", version=2)
    svd = lax.linalg.svd(x, algorithm=lax.linalg.SvdAlgorithm.QR)
    eigh = lax.linalg.eigh(x, implementation=lax.linalg.EighImplementation.QR)
    preset = lax.DotAlgorithmPreset.F32_F32_F32
    algorithm = lax.DotAlgorithm(jnp.float32, jnp.float32, jnp.float32)
    return [
        [scaled(x, by=3.0), jax.jit(lambda x: scaled(x, by=0.5))(x)],
        [svd[1], eigh[1], lax.dot(x, x, out_sharding=None)],
        [jnp.dot(x, x, precision=preset), algorithm.rhs_component_count],
        [lax.exp(x, accuracy=lax.AccuracyMode.DEFAULT), lax.sin(x, accuracy=lax.Tolerance(1e-5))],
        jax.jit(lambda x: lax.stage(x) + lax.stage(1))(x),
    ]
