"""Amounts of CPU and memory: cores and GiB where the size of the largest machine is known, else shares of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from borgtrace.notation.numbers import number
from borgtrace.store.manifest import Manifest

Resource = Literal["cpu", "memory"]
RESOURCES: dict[str, str] = {"cpu": "CPU", "memory": "memory"}
"""What resources are called within a sentence."""
UNITS = {"cpu": "cores", "memory": "GiB"}
RELATIVE = "of the largest machine"
"""The unit of an amount where nobody knows how much the largest machine has."""
BYTES_PER_GIB = 2.0**30
_AMOUNT = re.compile(r"(?:^|_)(cpu|memory)(?:_|$)")
_NO_AMOUNT = re.compile("memory_accesses|cycles")


@dataclass(frozen=True, slots=True)
class ResourceAmounts:
    """Writes amounts of a store, which are fractions of its largest machine.

    Parameters
    ----------
    cores, gib
        Size of the largest machine; None where it is not known.

    Examples
    --------
    >>> amounts = ResourceAmounts(cores=16, gib=None)
    >>> amounts.text(0.12, "cpu"), amounts.text(0.12, "memory")
    ('1.92 cores', '0.12 of the largest machine')
    >>> amounts.heading("requested", "cpu"), amounts.unit("memory")
    ('requested (cores)', 'of the largest machine')
    """

    cores: float | None = None
    gib: float | None = None

    @classmethod
    def of(cls, manifest: Manifest, cores: float = 0.0, gib: float = 0.0) -> ResourceAmounts:
        """Return how amounts of a store are written.

        Parameters
        ----------
        manifest
            Of the store.
        cores, gib
            Size of the largest machine as the user states it, which goes before the store's; 0 where not stated.
        """
        known_cores, known_gib = stored_size(manifest)
        return cls(cores or known_cores, gib or known_gib)

    def size(self, resource: str) -> float | None:
        """Return the cores, or GiB, of the largest machine; None where not known."""
        return self.cores if resource == "cpu" else self.gib

    def is_known(self, resource: str) -> bool:
        """Whether amounts of a resource are cores or GiB."""
        return self.size(resource) is not None

    def factor(self, resource: str) -> float:
        """Return what makes a stored fraction an amount in `unit`."""
        return self.size(resource) or 1.0

    def unit(self, resource: str) -> str:
        """Return the unit of amounts: ``cores``, ``GiB``, or ``of the largest machine``."""
        return UNITS[resource] if self.is_known(resource) else RELATIVE

    def heading(self, title: str, resource: str) -> str:
        """Return the title of a column or an axis with its unit."""
        return f"{title} ({self.unit(resource)})"

    def value(self, fraction: float | None, resource: str) -> float | None:
        """Return a stored fraction in `unit`."""
        return None if fraction is None else fraction * self.factor(resource)

    def number(self, fraction: float | None, resource: str) -> str:
        """Write a stored fraction in `unit`, for a column whose heading has the unit."""
        return number(self.value(fraction, resource))

    def text(self, fraction: float | None, resource: str) -> str:
        """Write a stored fraction with its unit."""
        written = self.number(fraction, resource)
        unit = self.unit(resource)
        if fraction is None:
            return written
        # One core, but one GiB.
        return f"{written} core" if (written, unit) == ("1", "cores") else f"{written} {unit}"

    def describe(self) -> str:
        """Return the size of the largest machine, as far as it is known; empty where it is not."""
        sizes = ((resource, self.size(resource)) for resource in UNITS)
        return ", ".join(self.text(1.0, resource) for resource, size in sizes if size is not None)


def stored_size(manifest: Manifest) -> tuple[float | None, float | None]:
    """Return cores and GiB of the largest machine as a store knows them, None where it does not.

    Parameters
    ----------
    manifest
        Of the store.
    """
    basis = manifest.basis
    # Of a resource without a size, the basis is the largest row, which is no machine.
    unknown = basis.get("unknown_sizes", ())
    cores = None if "cpu" in unknown else basis.get("cores")
    n_bytes = None if "memory" in unknown else basis.get("bytes")
    return cores or None, n_bytes / BYTES_PER_GIB if n_bytes else None


def resource_of(column: str) -> str | None:
    """Return the resource that a column of the tables of a store is an amount of, by its name; None where of none.

    Examples
    --------
    >>> resource_of("cpu_request"), resource_of("mean_average_memory"), resource_of("memory_accesses_per_instruction")
    ('cpu', 'memory', None)
    """
    match = _AMOUNT.search(column)
    return None if match is None or _NO_AMOUNT.search(column) else match[1]
