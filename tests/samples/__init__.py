"""The table of primitives, one row or more for each; a module mirrors a file of primitives/."""

import importlib
import pkgutil
from types import ModuleType

from tests.samples.row import Sample


def modules() -> list[ModuleType]:
    """Return the modules of the table."""
    names = sorted(info.name for info in pkgutil.iter_modules(__path__))
    return [importlib.import_module(f"{__name__}.{name}") for name in names]


def rows() -> list[Sample]:
    """Return the rows of all modules that have some."""
    return [row for module in modules() for row in getattr(module, "ROWS", ())]
