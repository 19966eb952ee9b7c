"""Importing a package of fungrad under the name of another library, in this process.

The package has its modules laid out as the library has them, in a package of their own: of ``library`` and ``ours.modules``,
``ours/modules/__init__.py`` is ``library`` and ``ours/modules/numpy.py`` is ``library.numpy``. Each keeps the name that it has
in fungrad, so that its frames count as fungrad's own and its functions are pickled as what they are.

Design: docs/design/35-other-libraries-programs.md.
"""

from __future__ import annotations

import contextlib
import importlib
import runpy
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["attributes", "fill", "lacks", "reachable", "refuse_strays", "run", "stand_in"]

PROGRAM: dict[str, Any] = {}
"""Names that a program begins with, besides Python's builtins; `install` functions add to it."""
USAGE = "usage: python -m {by} program.py | -m module | -c code, and arguments"


class Finder:
    """Finder in front of sys.meta_path: `library` and its submodules are modules of `package`."""

    def __init__(
        self,
        library: str,
        package: str,
        absent: Mapping[str, str],
        imported: Callable[[], None] | None = None,
    ) -> None:
        self.library, self.package, self.absent = library, package, absent
        self.imported = imported

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: Any = None
    ) -> ModuleSpec | None:
        """Return where `name` is; None of other libraries; an error with the reason where it is not there.

        ``from library.numpy import f`` without an f asks for a module f below the name of ``library.numpy`` here.
        """
        if name == self.library:
            return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]
        for root in (self.library, self.package):
            if name.startswith(root + ".") and path is not None:
                below = name[len(root) :]
                spec = PathFinder.find_spec(self.package + below, path)
                if spec is None:
                    kind = ModuleNotFoundError if root == self.library else ImportError
                    raise kind(lacks(self.library + below, self.absent), name=name)
                if root == self.library:
                    return ModuleSpec(name, self, origin=spec.origin)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        if spec.name == self.library and self.imported is not None:
            self.imported()
        module = importlib.import_module(self.package + spec.name[len(self.library) :])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Put back attributes that the import has overwritten; the module has run under its name here.

        Only of packages Python asks a finder for the names that ``from library.numpy import f`` does not find.
        """
        module.__spec__ = module.__spec__ and module.__spec__.loader_state
        vars(module).setdefault("__path__", [])


def lacks(name: str, absent: Mapping[str, str]) -> str:
    """Return the message for a missing name; `absent` has reasons, also for everything below a name."""
    parts = name.split(".")
    above = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
    reason = next((absent[x] for x in above if x in absent), None)
    return f"fungrad, in the place of {parts[0]}, has no {name}" + (f": {reason}" if reason else "")


def reachable(module: str, names: Iterable[str]) -> list[str]:
    """Return those of the public names that a stand-in has; they are in its `vars` from then on."""
    found = []
    for name in names:
        with contextlib.suppress(AttributeError, ImportError):
            if name[:1] != "_":
                getattr(sys.modules[module], name)
                found.append(name)
    return sorted(found)


def fill(modules: Iterable[str]) -> None:
    """Make all names of stand-ins, so that their `vars` have them."""
    for module in modules:
        getattr(importlib.import_module(module), "__all__", None)


def attributes(
    name: str, absent: Mapping[str, str], lazily: Iterable[str] = ()
) -> Callable[[str], Any]:
    """Return ``__getattr__`` for the stand-in of `name`: it imports `lazily`, and explains missing names.

    >>> attributes("somelib.numpy", {"somelib.numpy.f": "it has no derivative"})("f")
    Traceback (most recent call last):
    AttributeError: fungrad, in the place of somelib, has no somelib.numpy.f: it has no derivative
    """
    modules = frozenset(lazily)

    def __getattr__(attribute: str) -> Any:
        full = f"{name}.{attribute}"
        if attribute in modules:
            return importlib.import_module(full)
        raise AttributeError(lacks(full, absent), name=attribute, obj=sys.modules.get(name))

    return __getattr__


class _Again:
    """Calls a function where it is unpickled: in a spawned process, before it imports the program."""

    def __init__(self, install: Callable[[], None]) -> None:
        self.install = install

    def __reduce__(self) -> Any:
        return self.install, ()


def in_spawned_processes(install: Callable[[], None]) -> None:
    """Have processes that `multiprocessing` spawns call `install` as well; forked ones need not."""
    spawn: Any = importlib.import_module("multiprocessing.spawn")
    prepared = spawn.get_preparation_data
    key = install.__module__
    spawn.get_preparation_data = lambda name: {**prepared(name), key: _Again(install)}


def refuse_strays(library: str, by: str) -> None:
    """Raise in another one's process that has modules of `by` for a library without its `install`.

    Processes of joblib's and loky's pools import what is pickled by name: there a program would go on with another library's rules.

    Raises
    ------
    ImportError
        If that is so; it says what to write.
    """
    process: Any = sys.modules.get("multiprocessing.process")
    made = process is not None and process.current_process().name != "MainProcess"
    if made and not any(isinstance(f, Finder) and f.library == library for f in sys.meta_path):
        raise ImportError(
            f"{library} means fungrad in the process that has made this one, and not here. Have each process call {by}.install "
            f"first, as in joblib.parallel_config('loky', initializer={by}.install); multiprocessing's own do so by themselves"
        )


def stand_in(
    library: str,
    package: str,
    absent: Mapping[str, str],
    install: Callable[[], None],
    imported: Callable[[], None] | None = None,
) -> None:
    """Make importing `library` give `package` until the process ends, in spawned processes too.

    Parameters
    ----------
    library : str
        The name of a top-level package.
    package : str
        The package of fungrad that holds its modules.
    absent : Mapping[str, str]
        Why names of the library are not there, by their full names: ``{"library.module.name": reason}``.
    install : Callable[[], None]
        What has called this, to be called by spawned processes.
    imported : Callable[[], None], optional
        Called when the library is first imported.

    Raises
    ------
    RuntimeError
        If the library itself has been imported.
    """
    if any(isinstance(f, Finder) and f.library == library for f in sys.meta_path):
        return
    if library in sys.modules:
        raise RuntimeError(
            f"{library} has been imported already, from {sys.modules[library].__file__}; what holds it would not be "
            f"fungrad's. Install before anything imports {library}: first of all in the program, by "
            f"`python -m {package.rpartition('.')[0]} program.py`, or `pytest -p {package.rpartition('.')[0]}`"
        )
    others = [f.library for f in sys.meta_path if isinstance(f, Finder)]
    if "jax" in (library, *others) and others:
        warnings.warn(
            f"{library} and {others[0]} both mean fungrad in this process, so JAX's conventions hold for both: numbers of 32 bits "
            "unless jax_enable_x64 is set, no errors for indices out of bounds or for singular matrices",
            UserWarning,
            stacklevel=3,
        )
    sys.meta_path.insert(0, Finder(library, package, absent, imported))
    in_spawned_processes(install)


def run(by: str, install: Callable[[], None], arguments: Sequence[str] | None = None) -> None:
    """Run the program of the command line, as Python itself would, after `install`.

    Parameters
    ----------
    by : str
        The module that is run with ``python -m``, for the message that says how.
    install : Callable[[], None]
        Called first.
    arguments : Sequence[str], optional
        ``program.py``, ``-m module`` or ``-c code``, and the program's own; those of this process if left out.
    """
    first, *rest = list(sys.argv[1:] if arguments is None else arguments) or [""]
    if first in ("", "-h", "--help") or (first in ("-m", "-c") and not rest):
        raise SystemExit(USAGE.format(by=by))
    install()
    if first == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], PROGRAM, run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.argv = ["-c", *rest[1:]]
        main = sys.modules["__main__"] = ModuleType("__main__")
        vars(main).update(PROGRAM)
        exec(compile(rest[0], "<string>", "exec"), vars(main))
    else:
        sys.argv = [first, *rest]
        if not sys.flags.safe_path:
            sys.path[0] = str(Path(first).resolve().parent)
        runpy.run_path(first, PROGRAM, run_name="__main__")
