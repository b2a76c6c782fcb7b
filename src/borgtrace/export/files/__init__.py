"""A store as input of simulators and as raw files of its own trace: one module per layout."""

from borgtrace.export.files.opendc import CLOCK
from borgtrace.export.files.writing import LAYOUTS, export_files

__all__ = ["CLOCK", "LAYOUTS", "export_files"]
