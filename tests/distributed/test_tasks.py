"""Transformed functions as tasks of Dask and actors of Ray, on clusters of this machine."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from tests.distributed.launch import LOOPBACK, listening, needs_tables

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(40, 3)), RNG.normal(size=40)


def loss(w, x, y):
    return fnp.mean((x @ w - y) ** 2)


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


@pytest.mark.parametrize("by", ["dask", "ray"])
@pytest.mark.parametrize("name", ["bootstrap", "sweep"])
def test_examples(name, by):
    """Started as a user does: tasks are then of the main module, which workers do not have."""
    for library in ("sklearn", {"dask": "distributed"}.get(by, by)):
        pytest.importorskip(library)
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), "--by", by]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.count(f"| {name}") == 2


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


class Trainer:
    """Keeps parameters, and a jitted step with its kernels, between calls."""

    def __init__(self):
        self.w = np.zeros(3)
        self.step = fg.jit(lambda w, x, y: w - 0.1 * fg.grad(loss)(w, x, y))

    def train(self, count):
        for _ in range(count):
            self.w = self.step(self.w, X, Y)
        return self.w


def test_actors_of_dask(client):
    trainer = client.submit(Trainer, actor=True).result()
    first = trainer.train(3).result()
    found = trainer.train(4).result()
    np.testing.assert_allclose(first, Trainer().train(3), rtol=1e-12)
    np.testing.assert_allclose(found, Trainer().train(7), rtol=1e-12)


def test_dask_listens_to_this_machine_alone(client):
    needs_tables()
    assert client.submit(abs, -1).result() == 1
    assert listening() == {"127.0.0.1"}


@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_tasks_and_actors_of_ray(monkeypatch):
    for name, value in LOOPBACK.items():
        monkeypatch.setenv(name, value)
    ray = pytest.importorskip("ray")
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
    finally:
        ray.shutdown()
