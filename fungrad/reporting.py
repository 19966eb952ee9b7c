"""Output of ``python -m fungrad``: the installation, a check that it works, meanings of errors."""

from __future__ import annotations

import os
import platform
import re
import time
import traceback
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.compile.targets.host import missing, threads
from fungrad.compile.targets.store import describe
from fungrad.core.config import COMPILATIONS, compilation
from fungrad.core.sections import SECTIONS
from fungrad.core.state import chosen
from fungrad.device import device_put, devices
from fungrad.execution import device_get
from fungrad.settings import config
from fungrad.transforms.call import programs
from fungrad.transforms.grad import grad
from fungrad.transforms.jit import jit
from fungrad.transforms.vmap import vmap


def show_config() -> None:
    """Print versions of dependencies, whether and where kernels are compiled and kept, for bug reports.

    Examples
    --------
    >>> import fungrad as fg
    >>> fg.show_config()  # doctest: +ELLIPSIS
    Python ...
    """
    print(f"Python {platform.python_version()}")
    for name in (
        "fungrad",
        "numpy",
        "scipy",
        "optree",
        "llvmlite",
        "cupy",
        "cupy-cuda12x",
        "cupy-cuda13x",
    ):
        try:
            print(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    reason, when = missing(), compilation.get()
    if when == "off":
        reason = "FUNGRAD_COMPILE is off"
    print(f"kernels: {f'none, as {reason}' if reason else f'compiled, {when}'}")
    print(f"cache: {'none, as no kernels are compiled' if reason else describe()}")


def report() -> int:
    """Print versions, devices, threads, caches and settings, and check fungrad; return 1 if it fails."""
    print(platform.platform())
    show_config()
    for backend in ("cpu", "gpu"):
        print(f"{backend}: {_devices(backend)}")
    print(f"threads: {threads()} for kernels, {os.cpu_count()} processors")
    print(config)
    given = [
        f"{name}={value}" for name, value in sorted(os.environ.items()) if name[:8] == "FUNGRAD_"
    ]
    print(f"environment: {', '.join(given) or 'nothing that begins with FUNGRAD_'}")
    failed = [name for name, check in _checks().items() if not _passes(name, check)]
    known = programs.info()
    print(f"programs: {known.currsize} kept in memory, at most {known.maxsize}")
    return int(bool(failed))


def _devices(backend: str) -> str:
    try:
        return ", ".join(map(repr, devices(backend)))
    except RuntimeError as error:
        return str(error)


_X = np.linspace(0.0, 1.0, 1000)
_SLOPE = np.sin(_X) + _X * np.cos(_X)


def _gradient(x: Any) -> Any:
    return grad(lambda x: fnp.sum(fnp.sin(x) * x))(x)


def _checks() -> dict[str, Callable[[], Any]]:
    """Return checks by name, each of the derivative of ``x sin(x)``."""
    checks: dict[str, Callable[[], Any]] = {
        "gradient": lambda: _gradient(_X),
        "vmap": lambda: vmap(grad(lambda x: fnp.sin(x) * x))(_X),
        "jit without kernels": lambda: _jitted("off"),
    }
    if not missing():
        checks["jit with kernels"] = lambda: _jitted("eager")
    try:
        gpu = devices("gpu")[0]
    except RuntimeError:
        return checks
    checks["jit on the GPU"] = lambda: device_get(jit(_gradient)(device_put(_X, gpu)))
    return checks


def _jitted(when: str) -> Any:
    assert when in COMPILATIONS
    with chosen(compilation, lambda _: when):
        compiled = jit(_gradient).lower(_X)
        if when != "off" and not compiled.kernels:
            raise RuntimeError("no kernel is made of the program")
        return compiled.compile()(_X)


def _passes(name: str, check: Callable[[], Any]) -> bool:
    """Print the result of a check, and its time; return whether it is right."""
    start = time.perf_counter()
    try:
        np.testing.assert_allclose(check(), _SLOPE, rtol=1e-12)
    except Exception:
        print(f"check {name}: FAILED\n{traceback.format_exc()}", end="")
        return False
    print(f"check {name}: right, {(time.perf_counter() - start) * 1e3:.0f} ms")
    return True


def explanations() -> dict[str, str]:
    """Return the sections of docs/errors.md by their headings; an installed fungrad has it beside this."""
    here = Path(__file__).parent
    page = next(p for p in (here / "errors.md", here.parent / "docs" / "errors.md") if p.exists())
    _, *sections = re.split(r"^## ", page.read_text("utf-8"), flags=re.MULTILINE)
    return {text.partition("\n")[0]: text.partition("\n")[2].strip() for text in sections}


def _about(message: str, known: Mapping[str, str]) -> list[str]:
    """Return the headings, at most two, of the sections with most of a message's words, at least half."""
    words = set(re.findall(r"[a-z_]{3,}", message.lower()))
    held = {
        title: sum(word in f"{title} {text}".lower() for word in words)
        for title, text in known.items()
    }
    most = max(held.values(), default=0)
    return [t for t, n in held.items() if n == most and n * 2 > len(words)][:2] if most else []


def explain(about: str | BaseException | type[BaseException] = "") -> None:
    """Print the usual cause of an error, and its fix, as ``python -m fungrad explain`` does.

    Parameters
    ----------
    about
        The error itself or its class, its message, or words of it; without it, what there is is listed.

    Examples
    --------
    >>> import fungrad as fg
    >>> try:
    ...     fg.make_expr(float)(1.0)
    ... except fg.ConcretizationError as error:
    ...     explain(error)  # doctest: +ELLIPSIS
    ConcretizationError
    ===================
    ...
    """
    if isinstance(about, type):
        about = about.__name__
    elif isinstance(about, BaseException):
        notes = getattr(about, "__notes__", [])
        about = "\n".join([str(about), *notes]) or type(about).__name__
    if not isinstance(about, str):
        raise TypeError(
            "explain takes an error, its class, its message or words of it, or a function; got "
            f"{about!r:.60} of type {type(about).__name__}"
        )
    print_sections(about)


_MORE = re.compile(r"python -m fungrad explain (\w+)")


def print_sections(name: str) -> int:
    """Print the sections whose headings hold a name, or match it best; return 1 if there is none.

    The name may be a message.
    """
    known = explanations()
    told = _MORE.search(name)  # by a message, at its end
    name = name if told is None else told[1]
    titles = [title for title in known if name.lower() in title.lower()]
    topic = next((topic for part, topic in SECTIONS.items() if part in name), None)
    if topic is not None:
        titles = [title for title in known if topic.lower() in title.lower()]
    titles = titles or _about(name, known)
    if not name or not titles:
        print(f"{f'Nothing is said of {name!r}. ' * bool(name)}There is:", *known, sep="\n  ")
        return int(bool(name))
    print("\n\n\n".join(f"{title}\n{'=' * len(title)}\n\n{known[title]}" for title in titles))
    return 0
