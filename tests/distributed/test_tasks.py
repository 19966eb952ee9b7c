"""Transformed functions as tasks of Dask and actors of Ray, on clusters of this machine."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(40, 3)), RNG.normal(size=40)


def loss(w, x, y):
    return fnp.mean((x @ w - y) ** 2)


def fitted(rows):
    """Return the least squares of some rows, by Newton's method: one step is exact."""
    x, y = X[rows], Y[rows]
    w = np.zeros(3)
    return w - np.linalg.solve(fg.hessian(loss)(w, x, y), fg.grad(loss)(w, x, y))


def ridge(strength):
    objective = fg.jit(fg.value_and_grad(lambda w: loss(w, X, Y) + strength * fnp.sum(w**2)))
    w = np.zeros(3)
    for _ in range(50):
        _, g = objective(w)
        w = w - 0.1 * g
    return w


RESAMPLED = [RNG.integers(0, 40, 40) for _ in range(6)]
STRENGTHS = [0.0, 0.1, 1.0]


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


def test_bootstrap_by_dask(client):
    found = client.gather(client.map(fitted, RESAMPLED, pure=False))
    for w, rows in zip(found, RESAMPLED, strict=True):
        expected = np.linalg.lstsq(X[rows], Y[rows], rcond=None)[0]
        np.testing.assert_allclose(w, expected, rtol=1e-10)


def test_sweep_by_dask(client):
    found = client.gather(client.map(ridge, STRENGTHS, pure=False))
    np.testing.assert_allclose(found, [ridge(s) for s in STRENGTHS], rtol=1e-12)


@pytest.mark.parametrize("transform", [fg.jit, lambda f: fg.jit(fg.grad(f)), fg.grad])
def test_transformed_functions_are_tasks(client, transform):
    f = transform(loss)
    w = np.ones(3)
    found = client.submit(f, w, X, Y, pure=False).result()
    np.testing.assert_allclose(found, f(w, X, Y), rtol=1e-12)


def test_blocks_of_dask_arrays(client):
    da = pytest.importorskip("dask.array")
    smooth = fg.jit(fg.vmap(lambda row: fnp.exp(-(row**2)) / fnp.sum(row**2)))
    blocks = da.from_array(X, chunks=(16, 3))  # the last block is smaller
    np.testing.assert_allclose(
        blocks.map_blocks(smooth, dtype=float).compute(), smooth(X), rtol=1e-12
    )


def test_gradient_of_a_sum_over_blocks(client):
    """The gradient of a mean over blocks is the mean of their gradients."""
    delayed = pytest.importorskip("dask").delayed
    w = np.ones(3)
    gradient = fg.jit(fg.grad(loss))
    parts = [delayed(gradient)(w, X[i : i + 10], Y[i : i + 10]) for i in range(0, 40, 10)]
    found = delayed(sum)(parts).compute() / 4
    np.testing.assert_allclose(found, fg.grad(loss)(w, X, Y), rtol=1e-12)


@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_tasks_and_actors_of_ray():
    ray = pytest.importorskip("ray")

    class Trainer:
        """Keeps parameters, and a jitted step with its kernels, between calls."""

        def __init__(self):
            self.w = np.zeros(3)
            self.step = fg.jit(lambda w, x, y: w - 0.1 * fg.grad(loss)(w, x, y))

        def train(self, count):
            for _ in range(count):
                self.w = self.step(self.w, X, Y)
            return self.w

    expected = Trainer().train(7)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        trainer = ray.remote(Trainer).remote()
        ray.get(trainer.train.remote(3))
        np.testing.assert_allclose(ray.get(trainer.train.remote(4)), expected, rtol=1e-12)
        task = ray.remote(lambda f, *args: f(*args))
        gradient = fg.jit(fg.grad(loss))
        found = ray.get(task.remote(gradient, np.ones(3), X, Y))
        np.testing.assert_allclose(found, gradient(np.ones(3), X, Y), rtol=1e-12)
        many = ray.get([ray.remote(fitted).remote(rows) for rows in RESAMPLED])
        np.testing.assert_allclose(many, [fitted(rows) for rows in RESAMPLED], rtol=1e-12)
    finally:
        ray.shutdown()
