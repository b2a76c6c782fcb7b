"""Make the plan: ask the server which metrics it has, and look into the folder for answers."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from borgtrace.errors import SourceError
from borgtrace.fetch.prometheus.folder import AnswerFolder, FolderQuery
from borgtrace.fetch.prometheus.metrics import ALL_NAMES, WANTED, Wanted
from borgtrace.fetch.prometheus.plan import FetchRequest, PlannedMetric, QueryPlan
from borgtrace.fetch.prometheus.refusals import Overloaded
from borgtrace.fetch.prometheus.server import PrometheusServer
from borgtrace.fetch.prometheus.stretches import Stretch, subtract
from borgtrace.fetch.prometheus.verdicts import MissingApi, QueryRefusedError

SECONDS_OF_WINDOW = 3600
"""What hardly changes is asked for once an hour."""
_COUNTS = (60, 8, 1)
"""Times at which the series of a metric are counted: fewer where the server refuses as many."""
_MOST_CHARACTERS = 1500
"""Of selectors in one address: each is up to three times as long there."""


def make_query_plan(server: PrometheusServer, request: FetchRequest) -> QueryPlan:
    """Ask the server what it knows, and the folder what it has.

    Nothing is written.

    Raises
    ------
    SourceError
        The server cannot be asked, or has no usage of containers that the selector matches.
    UsageError
        The folder holds the answers to other queries.
    """
    server.check()
    selector = ",".join(str(matcher) for matcher in request.matchers)
    query = FolderQuery(server.address, server.access.tenant, selector, request.step)
    present = AnswerFolder.read(request.folder, query).intervals()
    return _Planner(server, request, query, present).plan()


@dataclass(frozen=True, slots=True)
class _Planner:
    server: PrometheusServer
    request: FetchRequest
    query: FolderQuery
    present: Mapping[str, Sequence[Stretch]]

    def plan(self) -> QueryPlan:
        """Return the plan."""
        matching = self._matching_names()
        known = self._known_names() if matching is not None else None
        metrics = []
        unknown = []
        unmatched: list[str] = []
        for wanted in WANTED:
            # A server that lists no names is asked for the present ones.
            names = wanted.names[0] if matching is None else wanted.known_names(matching)
            metrics += [self._planned(wanted, name) for name in names]
            if not names and known is not None:
                known_names = wanted.known_names(known)
                unmatched += known_names
                unknown += [] if known_names else [wanted]
        plan = QueryPlan(
            self.server.address,
            self.request,
            self.query,
            tuple(metrics),
            tuple(unknown),
            tuple(unmatched),
            self.server.has_windows,
        )
        if not any(metric.wanted.is_usage for metric in metrics):
            raise self._nothing_to_fetch(plan)
        return plan

    def _matching_names(self) -> set[str] | None:
        """Return the metrics that have series for the selector; None where the server does not list names."""
        selectors = []
        for wanted in WANTED:
            for group in wanted.names:
                selectors += [wanted.series(name, self.request.matchers) for name in group]
        return self._names(selectors)

    def _known_names(self) -> set[str] | None:
        if not self.request.matchers:
            return set()
        return self._names(ALL_NAMES)

    def _names(self, selectors: Sequence[str]) -> set[str] | None:
        period = self.request.period
        names: set[str] = set()
        for some in batched(selectors, _MOST_CHARACTERS):
            parameters = [("match[]", selector) for selector in some]
            parameters += [("start", str(period.first)), ("end", str(period.last))]
            try:
                listed = self.server.ask("label/__name__/values", parameters)
            except (MissingApi, Overloaded, QueryRefusedError):
                return None
            if not isinstance(listed, list):
                return None
            names |= {name for name in listed if isinstance(name, str)}
        return names

    def _planned(self, wanted: Wanted, name: str) -> PlannedMetric:
        request = self.request
        series = wanted.series(name, request.matchers)
        counts = self._counts(series)
        window = max(1, SECONDS_OF_WINDOW // request.step) if wanted.is_lasting else 1
        points = request.period.points(request.step)
        # The mean over all of the period, of which data may cover only a part.
        mean = sum(counts) / len(counts) if counts else 0.0
        present = tuple(self.present.get(name, ()))
        return PlannedMetric(
            name=name,
            series=series,
            wanted=wanted,
            n_series=max(counts, default=0),
            n_samples=round(mean * points / window),
            present=tuple(each for each in present if _overlap(each, request.period)),
            todo=tuple(subtract(request.period, present, request.step)),
            window=window,
        )

    def _counts(self, series: str) -> list[int]:
        """Return the number of series at times all over the period; empty where the server does not count."""
        for n_times in _COUNTS:
            with suppress(MissingApi, Overloaded, QueryRefusedError):
                return self._counts_at(series, n_times)
        return []

    def _counts_at(self, series: str, n_times: int) -> list[int]:
        period = self.request.period
        steps = math.ceil(period.points(self.request.step) / n_times)
        spacing = steps * self.request.step
        # In the middle of each stretch: where there is only one, its beginning may be before the data.
        first = period.first + steps // 2 * self.request.step
        times = range(first, period.last + 1, spacing)
        parameters = {
            "query": f"count({series})",
            "start": str(times[0]),
            "end": str(times[-1]),
            "step": str(spacing),
        }
        values = _values_of(self.server.ask("query_range", parameters))
        # Where nothing is to count there is no value.
        return [*values, *[0] * (len(times) - len(values))]

    def _nothing_to_fetch(self, plan: QueryPlan) -> SourceError:
        if plan.unmatched:
            namespaces = self._namespaces()
            return SourceError(
                self.server.address,
                "no container matches the selector",
                expected=f"namespaces such as {', '.join(namespaces)}" if namespaces else None,
                got=f"{{{self.query.selector}}}",
                way_out="check --selector and --since",
            )
        names = [name for wanted in WANTED if wanted.is_usage for name in wanted.names[0]]
        return SourceError(
            self.server.address,
            "the server knows no usage of containers in this period",
            expected=" or ".join(names),
            way_out="check --since, the tenant, and that cAdvisor of the kubelets is scraped",
        )

    def _namespaces(self) -> list[str]:
        """Return the first namespaces of containers that the server knows."""
        period = self.request.period
        parameters = [("match[]", WANTED[0].names[0][0])]
        parameters += [("start", str(period.first)), ("end", str(period.last))]
        try:
            names = self.server.ask("label/namespace/values", parameters)
        except (MissingApi, Overloaded, SourceError):
            return []
        return (
            sorted(str(name)[:63] for name in names if name)[:5] if isinstance(names, list) else []
        )


def batched(texts: Sequence[str], most_characters: int) -> list[list[str]]:
    """Return texts in their order, in lists of a limited length: proxies refuse long addresses.

    Examples
    --------
    >>> batched(["aa", "bb", "cccccc"], 4)
    [['aa', 'bb'], ['cccccc']]
    """
    batches: list[list[str]] = []
    n_characters = 0
    for text in texts:
        if not batches or n_characters + len(text) > most_characters:
            batches.append([])
            n_characters = 0
        batches[-1].append(text)
        n_characters += len(text)
    return batches


def _overlap(one: Stretch, other: Stretch) -> bool:
    return one.first <= other.last and other.first <= one.last


def _values_of(data: Any) -> list[int]:
    """Return the values of the only series of an answer; empty for anything else."""
    try:
        return [int(float(value)) for series in data["result"] for _, value in series["values"]]
    except (KeyError, TypeError, ValueError):
        return []
