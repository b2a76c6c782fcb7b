"""Fetch what a plan lacks, several queries at a time, and keep each whole answer."""

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass

from borgtrace.errors import SourceError
from borgtrace.fetch.prometheus.answers import AnswerFacts, NotAnAnswer, read_answer
from borgtrace.fetch.prometheus.folder import AnswerFolder, file_of
from borgtrace.fetch.prometheus.plan import PlannedMetric, QueryPlan
from borgtrace.fetch.prometheus.refusals import Overloaded, is_about_size
from borgtrace.fetch.prometheus.server import PrometheusServer
from borgtrace.fetch.prometheus.stretches import RemainingTime, Stretch
from borgtrace.fetch.prometheus.unfinished import note_wanted
from borgtrace.fetch.prometheus.verdicts import BusyServer, MissingApi
from borgtrace.fetch.retry import BrokenTransfer, Fault

SECONDS_OF_LOOKBACK = 300
"""What a bare selector looks back for a sample, by default."""
_FAULTS_BEFORE_HALVING = 2
"""A server that cannot answer, or hangs up, so often in a row may be asked for too much."""


@dataclass(frozen=True, slots=True)
class ReceivedAnswer:
    """One answer that was kept.

    Attributes
    ----------
    metric, interval
        What it is about.
    facts
        What it holds.
    """

    metric: PlannedMetric
    interval: Stretch
    facts: AnswerFacts


def fetch_answers(
    server: PrometheusServer,
    plan: QueryPlan,
    *,
    jobs: int = 2,
    on_halving: Callable[[str, str], None] = lambda metric, reason: None,
) -> Iterator[ReceivedAnswer]:
    """Ask for what is left, and yield each answer when it is kept.

    Parameters
    ----------
    server
        Whom to ask.
    plan
        What, from :func:`make_query_plan`.
    jobs
        Queries at a time.
    on_halving
        Is told of a metric whose query was too much for the server, and of what it said; from any thread.

    Raises
    ------
    SourceError
        The server does not answer, or refuses the smallest query; what has come is kept.
    """
    with AnswerFolder.open(plan.request.folder, plan.query) as folder, server.threads(jobs) as pool:
        note_wanted(folder, [metric.name for metric in plan.metrics], plan.request.period)
        for metric in plan.metrics:
            query = _MetricQuery(server, folder, metric, plan.request.step, on_halving)
            running: set[Future[ReceivedAnswer | None]] = set()
            remaining = metric.remaining(plan.request.step)
            try:
                while running or remaining.intervals:
                    while len(running) < jobs and (piece := remaining.take()):
                        running.add(pool.submit(query.fetch, piece, remaining))
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        answer = future.result()
                        if answer is not None:
                            yield answer
            except BaseException:
                # Their answers would be waited for, though nobody takes them.
                server.stop()
                raise


@dataclass(frozen=True, slots=True)
class _MetricQuery:
    """Asks for pieces of one metric."""

    server: PrometheusServer
    folder: AnswerFolder
    metric: PlannedMetric
    step: int
    on_halving: Callable[[str, str], None]

    def fetch(self, piece: Stretch, remaining: RemainingTime) -> ReceivedAnswer | None:
        """Ask for a piece and keep the answer; None where it is given back to be asked for in halves."""
        path = file_of(self.metric.name, piece)
        n_faults = 0

        def attempt() -> AnswerFacts:
            nonlocal n_faults
            try:
                return self._receive(path, piece)
            except MissingApi as missing:
                raise Fault(f"the server answers {missing.reason}", cost=3) from missing
            except Fault as fault:
                n_faults += 1
                is_large = piece.points(self.step) > self.metric.window
                if is_large and n_faults > _FAULTS_BEFORE_HALVING and _may_be_size(fault):
                    raise Overloaded(fault.reason) from fault
                raise

        name = f"{self.server.address}: {self.metric.name}"
        try:
            facts = self.server.repeat(name, attempt)
        except Overloaded as overload:
            if not remaining.halve(piece):
                raise self._too_much(overload) from overload
            self.on_halving(self.metric.name, overload.reason)
            self.server.wait(self.server.backoff.delay(path, 1, overload.retry_after))
            return None
        remaining.learn(piece, facts.n_samples)
        return ReceivedAnswer(self.metric, piece, facts)

    def _receive(self, path: str, piece: Stretch) -> AnswerFacts:
        draft = self.folder.new_file(path)
        try:
            with draft.open("wb") as file:
                self.server.receive("query_range", self._parameters(piece), file)
            facts = read_answer(draft)
        except BaseException as error:
            with suppress(OSError):
                draft.unlink()
            if isinstance(error, NotAnAnswer):
                raise self.server.refused(error.refusal) from error
            raise
        self.folder.keep(path, is_empty=not facts.n_series)
        return facts

    def _parameters(self, piece: Stretch) -> dict[str, str]:
        """Return the parameters of a range query: the last sample of each window, where it has one.

        A bare selector would repeat samples that are up to five minutes old, as if a container had stood still.
        """
        # Windows lie side by side, from the first point of the piece to the last: no pod between two of them is missed.
        n_points = min(piece.points(self.step), self.metric.window)
        seconds = n_points * self.step
        if not self.server.has_windows:
            return self._bare_parameters(piece)
        # Before version 3.0 both ends of a window belonged to it.
        window = f"{seconds * 1000 - 1}ms"
        return {
            "query": f"last_over_time({self.metric.series}[{window}])",
            "start": str(piece.first - self.step + seconds),
            "end": str(piece.last),
            "step": str(seconds),
        }

    def _bare_parameters(self, piece: Stretch) -> dict[str, str]:
        """Return the parameters for a server without windows, whose bare selectors look back for five minutes."""
        is_lasting = self.metric.wanted.is_lasting
        step = (
            max(self.step, SECONDS_OF_LOOKBACK // self.step * self.step)
            if is_lasting
            else self.step
        )
        return {
            "query": self.metric.series,
            "start": str(piece.last - (piece.last - piece.first) // step * step),
            "end": str(piece.last),
            "step": str(step),
        }

    def _too_much(self, overload: Overloaded) -> SourceError:
        where = f"{self.server.address}: {self.metric.name}"
        if not is_about_size(overload.reason):
            return SourceError(
                where,
                "the server gives up even the smallest query",
                got=overload.reason,
                way_out="see to the server, then run the same command again: what has arrived is kept",
            )
        return SourceError(
            where,
            "too much for the server, even for one moment",
            got=overload.reason,
            way_out="choose fewer containers with --selector, such as one namespace at a time",
        )


def _may_be_size(fault: Fault) -> bool:
    """Return whether a fault may come from the size of the answer: the server gave up, or a proxy hung up."""
    return isinstance(fault, BusyServer | BrokenTransfer)
