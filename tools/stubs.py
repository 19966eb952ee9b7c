"""Write the stubs that tell type checkers and editors what is imported late: ``python tools/stubs.py``.

`fungrad` and `fungrad.numpy` import most of their names when these are asked for. `tests/typing` holds that the stubs
are up to date.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
HEAD = "# Written by tools/stubs.py: what type checkers see.\n# ruff: noqa\n# fmt: off\n\n"


def imported(module: ModuleType, homes: dict[str, str]) -> Iterator[str]:
    """Yield the statements that import the names of a module from their homes."""
    for name in module.__all__:
        home = homes.get(name)
        if home is not None:
            yield f"from {home} import {name} as {name}"


def of_fungrad() -> str:
    """Return the stub of `fungrad`: its names, where they are."""
    import fungrad as fg

    homes = dict(fg._HOME)
    for name in fg.__all__[: fg._AT_ONCE]:
        value = getattr(fg, name)
        if isinstance(value, ModuleType):
            homes[name] = value.__name__.rpartition(".")[0]
        else:
            homes[name] = getattr(value, "__module__", None) or "fungrad.core.types"
    body = [*imported(fg, homes), "", "__version__: str"]
    return HEAD + "\n".join(body) + "\n"


def main() -> None:
    """Write the stubs."""
    (ROOT / "fungrad/__init__.pyi").write_text(of_fungrad(), "utf-8")


if __name__ == "__main__":
    main()
