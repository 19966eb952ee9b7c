"""The examples run, in few steps here (`make examples` runs them whole), and say what they reached."""

import importlib.util
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from fungrad import random

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "examples"
SHARED = ("__init__", "__main__", "outcome", "tasks")
NAMES = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem not in SHARED)


@pytest.fixture
def load(monkeypatch):
    """Import an example as `python examples/name.py` does."""
    pytest.importorskip("sklearn")
    monkeypatch.syspath_prepend(FOLDER)

    def load(name):
        spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)  # dataclasses ask for it
        spec.loader.exec_module(module)
        return module

    yield load
    for name in ("outcome", "tasks"):
        sys.modules.pop(name, None)


def small(module, name, **settings):
    """Return an example's result in few steps, and what it reached, by metric."""
    result = getattr(module, name)(**settings)
    return result, {check.metric: check for check in module.check(result)}


def test_beam(load):
    design, checks = small(load("beam"), "optimise", iterations=3)
    assert design.compliances[0] > 1.5 * design.compliances[2]
    assert checks["gradient beside that on paper, difference"].holds


def test_bootstrap(load):
    found, checks = small(load("bootstrap"), "resample", resamples=100)
    assert found.resampled.shape == (100, 10)
    assert checks["norm of the gradient at the weights"].holds
    assert 0.8 < checks["deviations beside the formula's, median ratio"].reached < 1.3


def test_cnn(load):
    found, _ = small(load("cnn"), "train", epochs=2)
    assert found.accuracies[-1] > 0.7
    assert found.losses[-1] < 0.8 * found.losses[0]


def test_fluid(load):
    flight, _ = small(load("fluid"), "find_wind", iterations=2, steps=3)
    assert flight.error < 0.99 * flight.error_at_rest
    assert len(flight.frames) == 4


def test_gaussian_process(load):
    module = load("gaussian_process")
    found, checks = small(module, "forecast", iterations=5, every=7)
    assert found.surprise < module.minus_log_likelihood(module.START, *learned_from(found))
    assert checks["error of a forecast of ten years, parts per million"].reached < 5.0


def learned_from(found):
    t, y = found.seen
    return t, y - y.mean()


def test_hmc(load):
    module = load("hmc")
    found, checks = small(module, "infer", chains=4, steps=60, warmup=30)
    assert found.chains.shape == (30, 4, 31)
    assert 0.5 < found.accepted <= 1.0
    assert checks["means of the two methods apart, in deviations"].reached < 3.0


def test_implicit_layer(load):
    found, checks = small(load("implicit_layer"), "train", epochs=1)
    assert found.accuracy > 0.8
    assert checks["gradient beside one through 100 steps, difference"].holds


def test_language_model(load):
    module = load("language_model")
    found, checks = small(module, "learn", steps=15)
    assert np.mean(found.losses[-5:]) < 0.8 * found.losses[0]
    assert checks["bits per letter of new names"].reached < 5.0
    assert len(found.names) == 16
    assert {*"".join(found.names)} <= {*module.LETTERS}


def test_language_model_does_not_look_ahead(load):
    module = load("language_model")
    params = module.init(random.key(0))
    text = np.arange(20)[None]
    before = module.logits(params, text)
    text[0, 12:] = 5
    np.testing.assert_array_equal(module.logits(params, text)[:, :12], before[:, :12])


def test_maml(load):
    module = load("maml")
    before, after = (module.learn(steps=n, tests=20).errors[1] for n in (1, 200))
    assert after < 0.5 * before


def test_neural_ode(load):
    found, checks = small(load("neural_ode"), "learn", steps=30, iterations=1)
    assert np.mean(found.losses[-5:]) < 0.8 * np.mean(found.losses[:5])
    assert all(math.isfinite(check.reached) for check in checks.values())


def test_newton(load):
    _, checks = small(load("newton"), "fit")
    assert all(check.holds for check in checks.values())


def test_parallel(load):
    found, checks = small(load("parallel"), "compare", text_steps=3, reader_steps=40)
    assert found.accuracy > 0.8
    for metric in (
        "transformer's parameters beside one program's",
        "digits' parameters beside one program's",
        "optimizer's state in a place, of the whole",
    ):
        assert checks[metric].holds


def test_physics_informed(load):
    _, checks = small(load("physics_informed"), "solve", iterations=12)
    assert checks["relative error of the solution"].reached < 0.6


def test_policy_gradient(load):
    found, _ = small(load("policy_gradient"), "learn", updates=6)
    assert found.pushes[-1] > found.pushes[0]


def test_private_sgd(load):
    found, checks = small(load("private_sgd"), "train", steps=40)
    assert found.private[-1] > 0.6
    assert 1.0 < checks["epsilon, with delta = 0.0001"].reached < 3.0


def test_epsilon_of_batches_that_are_all_there_is_that_of_the_gaussian_mechanism(load):
    """Renyi's divergence of order a between Gaussians one apart is a / (2 sigma^2)."""
    module = load("private_sgd")
    module.RATE_OF_SAMPLES = 1.0 - 1e-12
    a = np.arange(2, 64)
    expected = np.min(10 * a / (2 * module.NOISE**2) + np.log(1 / module.DELTA) / (a - 1))
    np.testing.assert_allclose(module.epsilon(np.array([10])), [expected], rtol=1e-6)


def test_rocket(load):
    _, checks = small(load("rocket"), "plan", steps=16)
    assert checks["radius reached; the book says 1.525"].reached > 1.52
    assert checks["velocity beside that on a circle, difference"].holds


def test_sweep(load):
    found, _ = small(load("sweep"), "sweep", steps=20)
    assert found.others.shape == (5, 5)
    assert found.chosen_by[found.best] == found.chosen_by.max() > 0.8
    assert found.chosen_by[0].max() < 0.5  # too slow


def test_vae(load):
    found, checks = small(load("vae"), "train", epochs=3)
    assert found.costs[-1] < 0.9 * found.costs[0]
    assert checks["test images next to one of the same digit"].reached > 0.3
    assert found.drawings.shape == (10, 10, 8, 8)


@pytest.mark.parametrize("name", NAMES)
def test_gallery_shows_example(name):
    gallery = (ROOT / "examples" / "README.md").read_text("utf-8")
    assert f"[![{name}](../docs/pictures/{name}.png)]({name}.py)" in gallery
    assert (ROOT / "docs" / "pictures" / f"{name}.png").stat().st_size < 50_000


def test_checks(load, capsys):
    outcome = load("outcome")
    good = outcome.Check("a", 2.0, at_least=1.0, at_most=2.0)
    assert good.holds
    assert good.required == "at least 1 and at most 2"
    for reached in (0.5, 2.5, math.nan, math.inf):
        assert not outcome.Check("a", reached, at_least=1.0, at_most=2.0).holds
    assert outcome.report("name", [good], 1.0) == 0
    assert outcome.report("name", [good, outcome.Check("b", math.nan, at_most=1.0)], 1.0) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line[:6] for line in lines] == ["| name", "| name", "| name", "name m"]


def test_a_run_fails_if_one_misses(load, tmp_path, capsys):
    runner = load("__main__")
    header = f"import sys; sys.path.insert(0, {str(FOLDER)!r})\nfrom outcome import Check, main\n"
    for name, number in ("fine", 1), ("bad", 3):
        check = "lambda x: [Check('number', x, at_most=2)]"
        text = f"{header}main(lambda: {number}, {check}, lambda x, figure: None)\n"
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "broken.py").write_text("1 / 0\n")
    assert runner.run(tmp_path / "fine.py", [])
    assert not runner.run(tmp_path / "bad.py", [])
    assert not runner.run(tmp_path / "broken.py", [])
    printed = capsys.readouterr()
    assert [line.split("|")[3].split() for line in printed.out.splitlines()] == [["1"], ["3"], []]
    assert "bad missed" in printed.err
    assert "ZeroDivisionError" in printed.err
