"""Options, fixtures and settings of the whole test suite."""

import gc
import importlib.util
import os
import sys
import warnings
import zlib
from collections.abc import Generator, Iterator
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis
import numpy as np
import pytest

# Most tests hold against what NumPy's functions give, bit for bit. Those of kernels say so.
os.environ.setdefault("FUNGRAD_COMPILE", "off")
# LAPACK's threads, as many in each worker as there are cores, wait for each other on small matrices: ten times the work.
# SciPy's library reads this when it is imported, NumPy's in the processes that are started from here: the workers, say.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import fungrad
from fungrad.core.config import setting
from fungrad.transforms import retraces
from tests import tiers

# Tests jit one lambda from one line more often than any user should.
MANY, retraces.MANY = retraces.MANY, sys.maxsize

# The oracles, for the tests that import them: JAX on the CPU, with float64 as NumPy has it.
os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

# `ci` draws the same examples on every run. HYPOTHESIS_PROFILE=explore looks for new failures.
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=1000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


PEERS = all(importlib.util.find_spec(name) for name in ("autograd", "jax", "optax"))
"""Whether the libraries that tests/peers compares with are here; `make test-peers` installs them."""

collect_ignore_glob = [
    *("compat/autograd_*.py", "compat/jax_*.py", "compat/scipy_walk.py"),
    *("ecosystem/compare.py", "ecosystem/programs/*", "ecosystem/run.py", "ecosystem/table.py"),
    *(["peers/functional_programs/*", "peers/jax_cells/*"] if PEERS else ["peers/*"]),
]
"""No tests: programs that tests run in processes of their own; they import other libraries."""


STARTS = pytest.StashKey[dict[ModuleType, list[tuple[np.random.Generator, Any]]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    tiers.add_options(parser)
    parser.addoption(
        "--backend",
        choices=["numpy", "cupy"],
        default="numpy",
        help="whose arrays the tests use (default: numpy)",
    )


def why_no_cupy() -> str | None:
    """Return why CuPy cannot be used here; None if it can."""
    try:
        import cupy

        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", FutureWarning
            )  # of cupyx.jit, which is CuPy's own affair
            importlib.import_module("cupyx.scipy.signal")
    except ImportError as error:
        return f"CuPy cannot be imported ({error})"
    try:
        if int(cupy.arange(3).sum()) != 3:
            return "CuPy computes wrongly on this GPU"
    except Exception as error:  # no driver, no device, no compiler: many types, one meaning
        return f"CuPy finds no usable GPU ({type(error).__name__}: {error})"
    return None


def pytest_configure(config: pytest.Config) -> None:
    os.environ["FUNGRAD_TEST_BACKEND"] = config.getoption("--backend")
    if config.getoption("--backend") == "cupy" and (reason := why_no_cupy()):
        pytest.exit(f"all tests skipped: --backend=cupy, but {reason}", returncode=0)
    tiers.configure(config)
    config.pluginmanager.register(Freezing())


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note where the generators of random numbers stand that modules of tests hold."""
    for module in {getattr(item, "module", None) for item in session.items}:
        held = (
            [x for x in vars(module).values() if isinstance(x, np.random.Generator)]
            if module
            else []
        )
        if held:
            session.stash.setdefault(STARTS, {})[module] = [
                (x, x.bit_generator.state) for x in held
            ]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Have a test draw the same numbers alone as after others."""
    for generator, state in item.session.stash.get(STARTS, {}).get(
        getattr(item, "module", None), ()
    ):
        generator.bit_generator.state = state


def pytest_report_header(config: pytest.Config) -> list[str]:
    versions = [f"{name} {metadata.version(name)}" for name in ("numpy", "scipy", "optree")]
    return [
        f"fungrad: {Path(fungrad.__file__).parent}",
        f"backend: {config.getoption('--backend')}; {', '.join(versions)}",
        *([] if PEERS else ["tests/peers: left out, for want of JAX and autograd"]),
    ]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--backend") == "cupy":
        chosen = [item for item in items if is_of_devices(item)]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
        items[:] = chosen
    peers = Path(__file__).parent / "peers"
    for item in items:
        if item.path.is_relative_to(peers):
            item.add_marker(pytest.mark.peers)
        if " at 0x" in item.nodeid:  # differs between the processes of a parallel run
            raise pytest.UsageError(f"an object's address in the name of a test: {item.nodeid}")


def is_of_devices(item: pytest.Item) -> bool:
    """Whether a test asks for CuPy's arrays: by a fixture, by a parameter, or by what it calls of `tests/backends`."""
    if not isinstance(item, pytest.Function):
        return False
    if hasattr(item, "callspec") and item.callspec.params.get("cell") == "cupy":
        return True
    called = {"make_module", "fake_cupy"} & {*item.function.__code__.co_names}
    return bool(called) or not {"xp", "cupy"}.isdisjoint(item.fixturenames)


class Freezing:
    """Leaves out of garbage collections what was alive before the tests of a file.

    Else each collection takes seconds once some thousand tests have run, and some tests ask for many.
    """

    def pytest_collection_finish(self) -> None:
        self.freeze()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        result = yield
        if nextitem is not None and nextitem.path != item.path:
            self.freeze()
        return result

    def freeze(self) -> None:
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="session")
def xp(pytestconfig: pytest.Config) -> ModuleType:
    """The array module under test: numpy, or cupy with --backend=cupy."""
    return importlib.import_module(pytestconfig.getoption("--backend"))


@pytest.fixture
def as_written() -> Iterator[None]:
    """What Python does between NumPy's calls is refused as it is where functions are not read: for tests of these errors."""
    with setting(reading=False):
        yield


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers that depend on the test's name alone, so not on order or selection."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))
