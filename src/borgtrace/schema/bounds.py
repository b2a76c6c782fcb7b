"""What options and parameters may be: declared once, in the annotation of each; the command line and Python check it.

::

    def compute(tables, *, step: Annotated[Microseconds, Bounds(WINDOW, 31 * DAY)] = WINDOW): ...
"""

import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from numbers import Real
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from borgtrace.errors import UsageError, check_names
from borgtrace.schema.time import AFTER_TRACE, DAY, WINDOW, ClockUnit, write_time


@dataclass(frozen=True, slots=True)
class Bounds:
    """The numbers that an option or a parameter may be; an infinite end is none.

    Parameters
    ----------
    least, most
        The smallest and the largest, in the unit of the parameter.
    excludes_least, excludes_most
        Whether an end is itself refused.

    Examples
    --------
    >>> Bounds(1, 64).describe(), Bounds(0, 1, excludes_least=True).describe()
    ('1 to 64', 'above 0 and at most 1')
    >>> Bounds(0, 1).contain(1), Bounds(0, 1).contain(float("nan"))
    (True, False)
    """

    least: float
    most: float
    excludes_least: bool = False
    excludes_most: bool = False

    def contain(self, value: float) -> bool:
        """Return whether a number is one of them; NaN never is."""
        is_above = self.least < value or (value == self.least and not self.excludes_least)
        is_below = value < self.most or (value == self.most and not self.excludes_most)
        return is_above and is_below

    def describe(self, time_unit: int | None = None) -> str:
        """Say which numbers they are, for messages and help.

        Parameters
        ----------
        time_unit
            Unit of the parameter in µs; None where it is no time.
        """
        least = write_number(self.least, time_unit)
        if self.most == math.inf:
            return f"above {least}" if self.excludes_least else f"{least} or more"
        most = write_number(self.most, time_unit)
        if not (self.excludes_least or self.excludes_most):
            return f"{least} to {most}"
        lower = "above" if self.excludes_least else "at least"
        upper = "below" if self.excludes_most else "at most"
        return f"{lower} {least} and {upper} {most}"


@dataclass(frozen=True, slots=True)
class Items:
    """How many items a list may have."""

    least: int
    most: int


SEED = Bounds(0, 2**32 - 1)
"""What every random generator takes."""
PROCESSES = Bounds(1, 1024)
"""Processes, threads and workers."""
SAMPLE_SIZE = Bounds(1, 10**9)
"""Size of a sample of what a store holds, which may be more than it holds."""
SHARE = Bounds(0, 1)
POSITIVE_SHARE = Bounds(0, 1, excludes_least=True)
PROBABILITY = Bounds(0, 1, excludes_least=True, excludes_most=True)
UNIT_SIZE = Bounds(0, 10**6)
"""Cores or GiB of the largest machine; 0 where they are not known."""
UNIT_OPTIONS = {"cores": "--cores-per-unit", "gib": "--gib-per-unit"}
"""What the fields of these sizes are called on the command line."""
GPU_LOAD = Bounds(0, 130)
"""Percent of all GPUs that pods have requested."""
GPU_RUNS = Bounds(1, 1000)
ID = Bounds(0, 2**63 - 1)
"""Ids of jobs, tasks and machines."""
TIME = Bounds(0, AFTER_TRACE)
"""On the clock of a trace, in µs."""
SAMPLE_OR_ALL = Bounds(0, 10**9)
"""Size of a sample; 0 takes all."""
SEEDS = Bounds(1, 10_000)
"""How many seeds are tried, one after another."""
MARGIN = Bounds(0, 1000)
"""What is added to an amount, as a share of it."""
FOLDS = Bounds(1, 1000)
"""Cuts of a back-test, each of which trains anew."""
INSTANCES = Bounds(1, 100_000)
INSTANCE_SIZE = Bounds(1, 1_000_000)
REALIZATIONS = Bounds(100, 1_000_000)
"""With fewer than 100 realizations, less than one of them would decide a target of 1 %."""
SUM_SAMPLES = Bounds(1, 1_000_000)
SYNTHETIC_TASKS = Bounds(1, 1_000_000)
"""Each takes about 720 bytes."""
REPLAYED_HOURS = Bounds(1, 10_000)
CAPACITY = Bounds(0, 10**6, excludes_least=True)
"""Of a machine, in largest machines."""
TRACE_LENGTH = Bounds(1, 10**9)
LENGTH_OR_ALL = Bounds(0, 10**9)
"""Points of a trace; 0 for no limit."""
MEAN_CPU = Bounds(0, 1000)
"""In largest machines; a task may use more than it is said to have."""
SHARDS = Bounds(1, 65_536)
MD5_DIGITS = Bounds(0, 8)
SYNTH_MACHINES = Bounds(1, 1_000_000)
SYNTH_HOURS = Bounds(0.0833, 10_000)
"""From one window, 300 s, to more than a year."""
SHARED_FACTOR = Bounds(0, 1, excludes_most=True)
"""At 1 all tasks would do the same, and nothing of their own would be left to divide by."""
DEMO_MACHINES = Bounds(10, 1_000_000)
DEMO_HOURS = Bounds(1, 10_000)
DOWNLOADS = Bounds(1, 64)
RATE = Bounds(0.001, 10_000)
"""Of queries, per second."""
WAIT = Bounds(1, 3600)
"""For a server, in seconds."""
PORT = Bounds(0, 65_535)
CHART_WIDTH = Bounds(200, 10_000)
"""In pixels."""
SHOWN_ROWS = Bounds(1, 1_000_000)

TASKS_PER_NODE = Bounds(1, 100_000)
HORIZON = Bounds(WINDOW, 366 * DAY)
"""How far ahead is predicted, in µs."""


class Declaration(NamedTuple):
    """What an annotation says of a value.

    Attributes
    ----------
    bounds
        Of a number, or of each item of a list.
    time_unit
        Its unit in µs, where it is a time.
    words
        What a text may be; None for any.
    items
        How many items a list may have; None where it is no list, or for any number.
    is_optional
        Whether None is a value, too.
    """

    bounds: Bounds | None = None
    time_unit: int | None = None
    words: tuple[str, ...] | None = None
    items: Items | None = None
    is_optional: bool = False


def declaration_of(annotation: Any) -> Declaration:
    """Return what an annotation says of a value: bounds, unit, words.

    Examples
    --------
    >>> declaration_of(Annotated[int, Bounds(1, 9)] | None).bounds
    Bounds(least=1, most=9, excludes_least=False, excludes_most=False)
    >>> declaration_of(Literal["task", "job"]).words
    ('task', 'job')
    """
    origin = get_origin(annotation)
    arguments = get_args(annotation)
    if origin is Annotated:
        return _with_metadata(declaration_of(arguments[0]), annotation.__metadata__)
    if origin is Literal:
        return Declaration(words=arguments)
    if origin in (Union, types.UnionType):
        members = [member for member in arguments if member is not types.NoneType]
        is_optional = len(members) < len(arguments)
        # Of several types none says what all of them may be.
        declared = declaration_of(members[0]) if len(members) == 1 else Declaration()
        return declared._replace(is_optional=is_optional)
    if origin in (tuple, list, Sequence):
        return declaration_of(arguments[0])
    return Declaration()


def _with_metadata(declared: Declaration, metadata: Sequence[object]) -> Declaration:
    for item in metadata:
        if isinstance(item, Bounds):
            declared = declared._replace(bounds=item)
        elif isinstance(item, ClockUnit):
            declared = declared._replace(time_unit=item.microseconds)
        elif isinstance(item, Items):
            declared = declared._replace(items=item)
    return declared


def is_allowed(value: Any, declared: Declaration) -> bool:
    """Return whether a number or a text is what its declaration allows."""
    if declared.words is not None:
        return value in declared.words
    return declared.bounds is None or declared.bounds.contain(value)


def describe_allowed(declared: Declaration) -> str:
    """Say what a declaration allows.

    Examples
    --------
    >>> describe_allowed(declaration_of(Literal["usage", "request", "both"]))
    'usage, request or both'
    """
    if declared.words is not None:
        *words, last = declared.words
        return f"{', '.join(words)} or {last}" if words else last
    return declared.bounds.describe(declared.time_unit) if declared.bounds else "any value"


def check_value(where: str, value: Any, declared: Declaration) -> None:
    """Refuse a value that its declaration does not allow.

    Parameters
    ----------
    where
        The option or parameter, for the message.
    value
        A number, a text, or a list of them.
    declared
        What it may be.

    Raises
    ------
    UsageError
        It says what is allowed.
    """
    if value is None and declared.is_optional:
        return
    if isinstance(value, list | tuple):
        if declared.items is not None:
            check_length(where, value, declared.items)
        for item in value:
            check_value(where, item, declared)
    elif declared.words is not None:
        check_names(where, [value], declared.words)
    elif declared.bounds is not None:
        check_number(where, value, declared.bounds, declared.time_unit)


def check_number(where: str, value: Any, bounds: Bounds, time_unit: int | None = None) -> None:
    """Refuse what is no number, or one out of bounds.

    Parameters
    ----------
    where
        The option or parameter, for the message.
    value
        What it was set to.
    bounds
        What it may be.
    time_unit
        Its unit in µs, where it is a time.

    Raises
    ------
    UsageError
        It says what is allowed.

    Examples
    --------
    >>> check_number("--jobs", 0, Bounds(1, 1024))
    Traceback (most recent call last):
        ...
    borgtrace.errors.UsageError: --jobs: out of range: expected 1 to 1,024, got 0
    """
    expected = bounds.describe(time_unit)
    # NumPy's numbers count; True, an int to Python, does not.
    is_number = isinstance(value, Real)
    if not is_number or isinstance(value, bool):
        raise UsageError(where, "not a number", expected=expected, got=repr(value))
    if not bounds.contain(value):
        got = write_number(value, time_unit)
        raise UsageError(where, "out of range", expected=expected, got=got)


def check_length(where: str, items: Sequence[object], allowed: Items) -> None:
    """Refuse a list with too few or too many items.

    Parameters
    ----------
    where
        The option or parameter, for the message.
    items
        The list.
    allowed
        How many it may have.

    Raises
    ------
    UsageError
        It says how many there may be.
    """
    if not allowed.least <= len(items) <= allowed.most:
        raise UsageError(
            where,
            "wrong number of values",
            expected=f"{allowed.least:,} to {allowed.most:,} of them",
            got=f"{len(items):,}",
        )


def check_fields(options: Any, names: Mapping[str, str] = types.MappingProxyType({})) -> None:
    """Refuse values of a dataclass that its annotations do not allow.

    Parameters
    ----------
    options
        A dataclass, in its ``__post_init__``.
    names
        Names for messages, of fields whose option is not called as they are.

    Raises
    ------
    UsageError
        It names the first such option, and says what is allowed.
    """
    declared = declarations_of(options.__class__)
    for field in fields(options):
        option = f"--{field.name.replace('_', '-')}"
        where = names.get(field.name, option)
        check_value(where, getattr(options, field.name), declared[field.name])


@cache
def declarations_of(owner: Any) -> Mapping[str, Declaration]:
    """Return what each field of a dataclass, or each parameter of a function, may be, by its name.

    Parameters
    ----------
    owner
        The class or the function.
    """
    hints = get_type_hints(owner, include_extras=True)
    return {name: declaration_of(hint) for name, hint in hints.items()}


def write_number(value: float, time_unit: int | None = None) -> str:
    """Return a number as messages show it: with separators, a time with its units.

    Examples
    --------
    >>> write_number(10_000_000), write_number(0.5), write_number(5_400, 1_000_000)
    ('10,000,000', '0.5', '1h30m')
    """
    # Times before the trace, and those of no length, have no other form.
    if time_unit is not None and math.isfinite(value) and value >= 0:
        return write_time(round(value * time_unit))
    if isinstance(value, int) or (
        math.isfinite(value) and value == round(value) and abs(value) < 2**53
    ):
        return f"{round(value):,}"
    return f"{value:g}"
