"""The table of primitives, one row or more for each; a module mirrors a file of primitives/."""

import importlib
import pkgutil

from tests.samples.row import Sample


def rows() -> list[Sample]:
    """Return the rows of all modules that have some."""
    names = sorted(info.name for info in pkgutil.iter_modules(__path__))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return [row for module in modules for row in getattr(module, "ROWS", ())]
