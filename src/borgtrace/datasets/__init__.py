"""Learning datasets: choose traces, divide them, standardize, export for any library, read back."""

from borgtrace.datasets.batches import Batch
from borgtrace.datasets.build import BuildResult, build
from borgtrace.datasets.dataset import Dataset, TraceSet, open
from borgtrace.datasets.options import DatasetOptions
from borgtrace.datasets.scaling import Scaling, inverse_transform
from borgtrace.datasets.selection import Selection
from borgtrace.datasets.split import Split

Options = DatasetOptions
"""The former name of :class:`DatasetOptions`."""

__all__ = [
    "Batch",
    "BuildResult",
    "Dataset",
    "DatasetOptions",
    "Scaling",
    "Selection",
    "Split",
    "TraceSet",
    "build",
    "inverse_transform",
    "open",
]


def __dir__() -> list[str]:
    return sorted(__all__)
