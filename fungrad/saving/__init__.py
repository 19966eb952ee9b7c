"""Functions as files, which other processes call without the source: `export` and `load`."""

from fungrad.saving.exported import Exported, ExportError, export, load

__all__ = ["ExportError", "Exported", "export", "load"]
