"""On which stores a claim can be judged: verdicts that more data could overturn are not given.

The least span and the least number of tasks of a claim come from a measurement.  ``scripts/measure_spans.py`` cuts
synthetic cells into nested prefixes, judges every claim on each of them, and finds the shortest prefix from which on
the verdict stays what it is.  The scopes of today are of cells of 60 machines: seed 11 at one day and two, seeds 12 and
13 at one, two, four and seven days, seed 14 at one week, two, and the month.  Where the claims settle is in
``docs/measured/spans.csv``, and a test holds the scopes against it.  A claim that no prefix of two weeks settles asks
for the month.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from borgtrace.question.study_times import in_words
from borgtrace.schema import Dialect
from borgtrace.schema.time import DAY, HOUR, MINUTE, SECOND, WINDOW
from borgtrace.store.coverage import Coverage, StoreCoverage

Values = Mapping[str, Any]
"""Parameters by name."""
_SMALL_CELL = 1000


@dataclass(frozen=True, slots=True)
class QuestionRequest:
    """What a question was asked of a store.

    Parameters
    ----------
    where
        The predicate that chose tasks, if any.
    changed
        Parameters of the question that are not at their defaults.
    defaults
        The defaults of all.
    time_units
        Unit, in µs, of each parameter that is a time.
    """

    where: str = ""
    changed: Values = field(default_factory=dict)
    defaults: Values = field(default_factory=dict)
    time_units: Mapping[str, int] = field(default_factory=dict)

    def setting(self, name: str) -> str:
        """Return a changed parameter as people say it.

        Examples
        --------
        >>> request = QuestionRequest(changed={"horizon": 2 * HOUR, "by": "job"}, time_units={"horizon": 1})
        >>> request.setting("horizon"), request.setting("by")
        ('horizon 2 h', 'by job')
        """
        value = self.changed[name]
        if name in self.time_units and value is not None:
            value = in_words(round(value * self.time_units[name]))
        return f"{name} {value}"


PLAIN_REQUEST = QuestionRequest()
"""All tasks, with all parameters at their defaults."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a store must hold for a claim to be judged on it.

    Parameters
    ----------
    traces
        Traces the claim is about; any where empty.
    is_general
        Whether it is qualitative (a ratio, a shape) and may be judged on other traces too, which is then said.
    is_of_this_cell
        Whether it is about the published cell itself (its number of machines, jobs or users), which no synthetic cell
        has.
    tables
        Tables whose coverage matters; those that its question reads where empty.  "tasks" stands for the events that
        it is made from.
    is_whole
        Whether all parts of these tables are needed.
    is_row_wise
        Whether it is a share of rows, for which parts cut by a hash are a sample.  Claims about tasks and jobs are
        not: their rows lie in several parts.
    span
        Least time that these tables must speak about, in µs, to the length of a usage window: a trace of a day seldom
        has a row in its last instant.
    tasks
        Least number of tasks.
    free
        Parameters of the question that may differ from their defaults.
    larger
        Parameters that are sizes: they may be larger than their defaults, not smaller.  More draws or instances only
        make a verdict surer.

    Examples
    --------
    >>> from borgtrace.schema.dialects import dialect
    >>> part = Coverage(676, parts=(0,), of=500, span=5 * MINUTE)
    >>> store = StoreCoverage(dialect("2011"), {"instance_usage": part}, n_tasks=2000)
    >>> Scope(traces=("2011",)).objection(store, ["instance_usage"])
    'needs all 500 parts of instance_usage, has 1 (5 min)'
    >>> Scope(traces=("2011",), is_whole=False).objection(store, ["instance_usage"])
    'needs instance_usage of 24 h or more, has 5 min (1 of 500 parts)'
    """

    traces: tuple[str, ...] = ()
    is_general: bool = False
    is_of_this_cell: bool = False
    tables: tuple[str, ...] = ()
    is_whole: bool = True
    is_row_wise: bool = False
    span: int = DAY
    tasks: int = _SMALL_CELL
    free: tuple[str, ...] = ("seed",)
    larger: tuple[str, ...] = ()

    @property
    def of_any_part(self) -> "Scope":
        """The scope of what is true of the whole once it is seen in any part of the trace, however short."""
        return replace(self, is_whole=False, span=0, tasks=0)

    def needing(self, *, days: int, tasks: int | None = None) -> "Scope":
        """Return the scope of a claim whose verdict settles only on a longer trace, or a larger cell.

        Parameters
        ----------
        days
            Least span.
        tasks
            Least number of tasks; that of this scope where None.

        Examples
        --------
        >>> Scope().needing(days=7).span == 7 * DAY
        True
        """
        return replace(self, span=days * DAY, tasks=self.tasks if tasks is None else tasks)

    def objection(
        self, store: StoreCoverage, reads: Iterable[str], request: QuestionRequest = PLAIN_REQUEST
    ) -> str:
        """Return why the claim cannot be judged on a store; empty where it can.

        Parameters
        ----------
        store
            What the store holds.
        reads
            Tables that the question reads.
        request
            What the question was asked.
        """
        # The table of tasks is made from events.
        named = ["instance_events" if name == "tasks" else name for name in self.tables or reads]
        tables = [name for name in dict.fromkeys(named) if name in store.tables]
        objections = [
            self._other_trace(store),
            self._selection(store, request),
            self._other_cell(store),
            *(self._too_few_parts(name, store) for name in tables),
            self._other_parts(store, tables),
            *(self._too_short(name, store) for name in tables),
            self._too_few_tasks(store, tables),
        ]
        return next((objection for objection in objections if objection), "")

    def note(self, store: StoreCoverage) -> str:
        """Return what has to be said of a verdict on another trace than the one the claim is about; else empty."""
        if not self.traces or store.dialect.trace in self.traces:
            return ""
        return f"published of {' and '.join(self.traces)}, measured on {store.dialect.spoken_name}"

    def is_about(self, dialect: Dialect) -> bool:
        """Return whether the claim can be judged on a trace at all: on its own, or on any."""
        return self.is_general or not self.traces or dialect.trace in self.traces

    def _other_trace(self, store: StoreCoverage) -> str:
        if self.is_about(store.dialect):
            return ""
        return f"is about {' and '.join(self.traces)}, the store holds {store.dialect.spoken_name}"

    def _other_cell(self, store: StoreCoverage) -> str:
        if not (self.is_of_this_cell and store.is_synthetic):
            return ""
        return f"is about the cell of {' and '.join(self.traces)}, the store holds a synthetic one"

    def _selection(self, store: StoreCoverage, request: QuestionRequest) -> str:
        changed, defaults = request.changed, request.defaults
        for name in self.larger:
            if name in changed and changed[name] < defaults[name]:
                return f"needs {name} of {defaults[name]:,} or more, got {changed[name]:,}"
        others = sorted(set(changed) - set(self.free) - set(self.larger))
        if others:
            settings = ", ".join(request.setting(name) for name in others)
            return f"is about the question's defaults, not {settings}"
        if request.where:
            return "is about all tasks, not a selection (--where)"
        if store.is_subset:
            return "is about the whole trace, the store is a subset of another"
        return ""

    def _too_few_parts(self, name: str, store: StoreCoverage) -> str:
        coverage = store.tables[name]
        if coverage.is_whole:
            return ""
        parts = _parts_in_words(coverage)
        if self.is_whole:
            return f"needs {_all_parts_of(name, coverage)}, has {parts}"
        if store.dialect.shards == "hash" and not self.is_row_wise:
            every_part = _all_parts_of(name, coverage)
            return f"is about tasks, whose rows lie in {every_part}; the store has {parts}"
        if store.dialect.shards == "time" and not coverage.is_contiguous:
            return f"needs parts of {name} that follow each other, has {parts}"
        return ""

    def _other_parts(self, store: StoreCoverage, tables: list[str]) -> str:
        """Say that tables cut by time speak about different hours: parts of one number are of the same time."""
        if store.dialect.shards != "time":
            return ""
        cut_tables = [name for name in tables if not store.tables[name].is_whole]
        if len({store.tables[name].parts for name in cut_tables}) < 2:
            return ""
        counts = " and ".join(f"{len(store.tables[name].parts):,}" for name in cut_tables)
        return f"needs the same parts of {' and '.join(cut_tables)}, has {counts}"

    def _too_short(self, name: str, store: StoreCoverage) -> str:
        span = store.span_of(name)
        if span > self.span - WINDOW:
            return ""
        coverage = store.tables[name]
        parts = ""
        if not coverage.is_whole and coverage.of is not None:
            parts = f" ({len(coverage.parts)} of {coverage.of} parts)"
        needed = duration(self.span)
        return f"needs {name} of {needed} or more, has {duration(span)}{parts}"

    def _too_few_tasks(self, store: StoreCoverage, tables: list[str]) -> str:
        if not any(name.startswith("instance") for name in tables) or store.n_tasks is None:
            return ""
        if store.n_tasks >= self.tasks:
            return ""
        return f"needs {self.tasks:,} tasks or more, has {store.n_tasks:,}"


def _all_parts_of(name: str, coverage: Coverage) -> str:
    if coverage.of:
        return f"all {coverage.of:,} parts of {name}"
    return f"all of {name} (how many parts is not known)"


def _parts_in_words(coverage: Coverage) -> str:
    span = duration(coverage.span)
    return f"{len(coverage.parts):,} ({span})" if coverage.parts else span


def duration(span: int) -> str:
    """Write a span in the largest unit that leaves a number above one.

    >>> duration(0), duration(5 * MINUTE), duration(DAY), duration(70_920_000_000), duration(29 * DAY)
    ('0 s', '5 min', '24 h', '19.7 h', '29 days')
    """
    if span < 2 * MINUTE:
        return f"{span / SECOND:.3g} s"
    if span < 2 * HOUR:
        return f"{span / MINUTE:.3g} min"
    return f"{span / HOUR:.3g} h" if span <= 2 * DAY else f"{span / DAY:.3g} days"
