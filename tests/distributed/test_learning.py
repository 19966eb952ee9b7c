"""Networks divided over several processes learn what one program does, and go on after one was killed, with as many or others."""

import pickle
import shutil

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import training
from tests.distributed.launch import launch, needs_mpi
from tests.distributed.learning import EVERY, KILLED, NETWORKS, STEPS, W, X, Y, example, network

PROGRAM = ("-m", "tests.distributed.learning")
COUNTS = (1, 2, 4)
SEVERAL = (2, 4)


def run(count, name, folder, *arguments):
    """Run one of `learning.py`, which must end well unless a process is killed."""
    needs_mpi()
    folder.mkdir(exist_ok=True)
    ended = launch(count, *PROGRAM, name, str(folder), *arguments)
    assert (ended.returncode != 0) == (name == "killed"), ended.stderr[-3000:]
    return folder


def agree(found, expected, **tolerances):
    """Raise unless two trees have the same numbers."""
    fg.test_util.assert_allclose(found, expected, **tolerances)


@pytest.fixture(scope="module")
def alone():
    """Parameters and losses of one program that knows nothing of places."""
    parallel = example()
    return {n: parallel.train_alone(network(parallel, n), STEPS)[::2] for n in NETWORKS}


@pytest.mark.parametrize("count", COUNTS)
def test_divided_networks_learn_what_one_program_does(count, alone, tmp_path):
    run(count, "learned", tmp_path)
    for name, (params, losses) in alone.items():
        found_params, found_losses = pickle.loads((tmp_path / name).read_bytes())
        assert losses[-1] < losses[0]
        np.testing.assert_allclose(found_losses, losses, rtol=1e-12)
        agree(found_params, params, rtol=1e-10, atol=1e-12)
    mean = lambda w: fnp.mean((fnp.tanh(X @ w) - Y) ** 2)
    agree(
        pickle.loads((tmp_path / "padded").read_bytes()),
        (mean(W), fg.grad(mean)(W)),
        rtol=1e-12,
        atol=1e-14,
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Parameters after a run on so many processes that nothing has interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    runs = {n: run(n, "resumed", folder / str(n), "digits") for n in COUNTS}
    return {n: pickle.loads((found / "params").read_bytes()) for n, found in runs.items()}


@pytest.fixture(scope="module", params=SEVERAL)
def interrupted(request, tmp_path_factory):
    """How many processes there were until one was killed, and what they have left."""
    folder = run(request.param, "killed", tmp_path_factory.mktemp("killed"), "digits")
    assert not (folder / "params").exists()
    assert training.load(folder / "checkpoint")["done"] == KILLED // EVERY * EVERY
    return request.param, folder


@pytest.mark.parametrize("count", COUNTS)
def test_killed_runs_go_on(count, interrupted, whole, tmp_path):
    """On as many processes, what comes is the same bit for bit; on others, sums are rounded otherwise."""
    before, left = interrupted
    folder = tmp_path / "run"
    shutil.copytree(left, folder)
    run(count, "resumed", folder, "digits")
    found = pickle.loads((folder / "params").read_bytes())
    if count == before:
        bits = lambda tree: [x.tobytes() for x in fg.tree.leaves(tree)]
        assert bits(found) == bits(whole[count])
    agree(found, whole[count], rtol=1e-11, atol=1e-13)


def test_transformer_goes_on(alone, tmp_path):
    run(2, "killed", tmp_path, "transformer")
    run(4, "resumed", tmp_path, "transformer")
    found = pickle.loads((tmp_path / "params").read_bytes())
    agree(found, alone["transformer"][0], rtol=1e-10, atol=1e-12)
