"""Amounts of CPU and memory: cores and GiB where the size of the largest machine is known, else shares of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeVar, cast

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

    def column(self, title: str, resource: str) -> str:
        """Return the heading of a narrow column: with its unit if that is cores or GiB; `note` says the other."""
        return self.heading(title, resource) if self.is_known(resource) else title

    @property
    def note(self) -> str:
        """The sentence below a table of narrow columns that says what its amounts are of; empty where headings do."""
        relative = [title for resource, title in RESOURCES.items() if not self.is_known(resource)]
        if not relative:
            return ""
        return f"Amounts of {' and '.join(relative)} are shares {RELATIVE}."

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

    def size_text(self, cpu: float | None, memory: float | None) -> str:
        """Write the size of a machine.

        Parameters
        ----------
        cpu, memory
            Stored fractions; None where not known.

        Examples
        --------
        >>> ResourceAmounts(16, 64).size_text(0.5, 0.5), ResourceAmounts().size_text(0.5, None)
        ('8 cores, 32 GiB', 'CPU 0.5 of the largest machine, memory –')
        """
        parts = []
        for resource, fraction in (("cpu", cpu), ("memory", memory)):
            text = self.text(fraction, resource)
            # Cores are of the CPU, and GiB of memory.
            says_resource = self.is_known(resource) and fraction is not None
            parts.append(text if says_resource else f"{RESOURCES[resource]} {text}")
        both_relative = all(part.endswith(RELATIVE) for part in parts)
        if both_relative:
            parts[0] = parts[0].removesuffix(f" {RELATIVE}")
        return ", ".join(parts)

    def describe(self) -> str:
        """Return the size of the largest machine, as far as it is known; empty where it is not."""
        sizes = ((resource, self.size(resource)) for resource in UNITS)
        return ", ".join(self.text(1.0, resource) for resource, size in sizes if size is not None)


IN_LARGEST_MACHINES = ResourceAmounts()
"""How amounts are written where nothing is known."""


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


class HasSizes(Protocol):
    """Options with the size of the largest machine: a dataclass with these fields, 0 where not stated."""

    @property
    def cores(self) -> float:
        """Its cores."""

    @property
    def gib(self) -> float:
        """Its GiB."""


Options = TypeVar("Options", bound=HasSizes)


def with_stored_sizes(options: Options, manifest: Manifest) -> Options:
    """Return options with the size of the largest machine, as far as a store knows what they leave open.

    Parameters
    ----------
    options
        A dataclass with the fields ``cores`` and ``gib``.
    manifest
        Of the store.
    """
    amounts = ResourceAmounts.of(manifest, options.cores, options.gib)
    copy: Any = options
    return cast(Options, replace(copy, cores=amounts.cores or 0.0, gib=amounts.gib or 0.0))


def resource_of(column: str) -> str | None:
    """Return the resource that a column of the tables of a store is an amount of, by its name; None where of none.

    Examples
    --------
    >>> resource_of("cpu_request"), resource_of("mean_average_memory"), resource_of("memory_accesses_per_instruction")
    ('cpu', 'memory', None)
    """
    match = _AMOUNT.search(column)
    return None if match is None or _NO_AMOUNT.search(column) else match[1]
