"""The networks of examples/parallel.py on several processes: `python -m tests.distributed.learning NAME FOLDER ...`."""

import os
import pickle
import signal
import sys
from pathlib import Path

import numpy as np

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import distributed, lax, training
from fungrad.sharding import PartitionSpec as P
from fungrad.sharding import make_mesh, shard_map

NETWORKS = ("transformer", "digits")
EXAMPLES = Path(__file__).parents[2] / "examples"
STEPS, EVERY, KILLED = 6, 2, 5


def example():
    """Return the module, which imports its neighbours."""
    sys.path.insert(0, str(EXAMPLES))
    try:
        import parallel
    finally:
        sys.path.remove(str(EXAMPLES))
    return parallel


def pictures(digits):
    """Return ten pictures with noise, in the place of the digits: to import scikit-learn takes longer than what is tested."""
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 10, 1000)
    images = np.clip(rng.random((10, 64))[labels] + 0.2 * rng.normal(size=(1000, 64)), 0.0, 1.0)
    targets = np.eye(10)[labels]
    return digits.Digits(images[200:], targets[200:], images[:200], targets[:200])


def network(parallel, name):
    """Return one of `NETWORKS`."""
    import digits

    return parallel.transformer() if name == "transformer" else parallel.reader(pictures(digits))


def written(folder, name, found):
    if distributed.process_index() == 0:
        Path(folder, name).write_bytes(pickle.dumps(found))


def learned(folder):
    """Both networks, for a few steps."""
    parallel = example()
    for name in NETWORKS:
        written(folder, name, parallel.train(network(parallel, name), STEPS)[::2])
    written(folder, "padded", padded())


X, Y, W = (np.random.default_rng(6).normal(size=shape) for shape in ((13, 3), 13, 3))


def padded():
    """The mean over 13 rows and its gradient, by four places: docs/distributed.md says how."""

    def mean(w, x, y, weights):
        errors = weights * (fnp.tanh(x @ w) - y) ** 2
        return lax.psum(fnp.sum(errors), "data") / lax.psum(fnp.sum(weights), "data")

    mesh = make_mesh((4,), ("data",))
    more = -len(Y) % mesh.shape["data"]
    rows = np.pad(X, ((0, more), (0, 0))), np.pad(Y, (0, more)), np.pad(np.ones(len(Y)), (0, more))
    specs = (P(), P("data"), P("data"), P("data"))
    return fg.value_and_grad(shard_map(mean, mesh=mesh, in_specs=specs, out_specs=P()))(W, *rows)


def resumed(folder, name):
    """One of them, from its last checkpoint, if there is one."""
    parallel = example()
    trained = parallel.train(network(parallel, name), STEPS, f"{folder}/checkpoint", EVERY)
    written(folder, "params", trained.params)


def killed(folder, name):
    """Likewise, but the second process is killed after so many steps."""
    before = training.Minibatches.__next__

    def until(self):
        if distributed.process_index() == 1 and self.position["batch"] == KILLED:
            os.kill(os.getpid(), signal.SIGKILL)
        return before(self)

    training.Minibatches.__next__ = until
    resumed(folder, name)


if __name__ == "__main__":
    distributed.initialize(timeout=60)
    globals()[sys.argv[1]](*sys.argv[2:])
