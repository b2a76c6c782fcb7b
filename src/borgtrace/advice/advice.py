"""The advice about a cell: its parts, each an answer of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from borgtrace.advice import incidents, nodes, periods, unknown, value, workloads
from borgtrace.advice.judging import JudgedPolicies, Replay, judge_policies, replay_of
from borgtrace.advice.options import ASSUMED_CORES, ASSUMED_GIB, AdviceOptions
from borgtrace.advice.page import page_of, sentences_html
from borgtrace.advice.parts import AdviceParts
from borgtrace.advice.schedule import schedule_of
from borgtrace.advice.sentences import Sentences, sentences_of
from borgtrace.advice.verdict import Verdict
from borgtrace.notation import with_stored_sizes
from borgtrace.question import EngineTables, NotApplicable, Question, Result
from borgtrace.question.answer import Rows
from borgtrace.question.store_question import Report, no_report
from borgtrace.question.study_times import usage_span
from borgtrace.scheduling.busiest import busiest_moment
from borgtrace.store import Store
from borgtrace.store import open as open_store


class Advice(AdviceParts):
    r"""What is advised about a cell: its parts, and what they say together.

    Examples
    --------
    ::

        advice = borgtrace.advise(borgtrace.open("cell"))
        print(*advice.sentences.value, sep="\n")
        advice.workloads.to_pandas()
        advice.incidents.to_pandas()
    """

    __slots__ = ()

    @property
    def sentences(self) -> Sentences:
        """The advice in sentences."""
        return sentences_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the advice as plain data: its sentences, and the rows of its parts."""
        parts = {}
        for result in self.results:
            parts[result.question.name] = {
                "not_applicable": result.not_applicable,
                "rows": result.table.to_pylist(),
            }
        return {**asdict(self.sentences), **parts}

    def to_html(self) -> str:
        """Return the advice as one self-contained page."""
        return page_of(self)

    def _repr_html_(self) -> str:
        """Show the sentences in a notebook."""
        return sentences_html(self)


@dataclass(frozen=True, slots=True, eq=False)
class JudgedCell:
    """A cell that was replayed, and what that showed; or the reason why it was not.

    Attributes
    ----------
    replay
        The cell; None where it could not be replayed.
    policies
        What a walk through the trace shows of each resource.
    reason
        Why there are none.
    """

    replay: Replay | None
    policies: Sequence[JudgedPolicies]
    reason: str = ""

    def require(self) -> tuple[Replay, Sequence[JudgedPolicies]]:
        """Return the cell and what was shown.

        Raises
        ------
        NotApplicable
            Where nothing was judged.
        """
        if self.replay is None or not self.policies:
            raise NotApplicable(self.reason)
        return self.replay, self.policies


@dataclass(frozen=True, slots=True, eq=False)
class Adviser:
    """What the parts of an advice are made with.

    Attributes
    ----------
    store, tables
        The cell.
    options
        What was asked for, with the sizes that the store knows.
    report
        Called with the progress.
    """

    store: Store
    tables: EngineTables
    options: AdviceOptions
    report: Report

    @property
    def with_sizes(self) -> AdviceOptions:
        """The options with sizes of the largest machine, assumed where nobody knows them."""
        return replace(
            self.options,
            cores=self.options.cores or ASSUMED_CORES,
            gib=self.options.gib or ASSUMED_GIB,
        )

    def answer(self, question: Question, compute: Callable[[], Rows]) -> Result:
        """Return the answer to a question of the advice, or why there is none."""
        self.report(question.title, 0, 1)
        facts = asdict(self.options)
        # No folder of this machine, and nothing that changes no answer.
        del facts["jobs"]
        if self.options.prices is not None:
            facts["prices"] = self.options.prices.name
        return question.result(self.tables, facts, compute)

    def judge(self) -> JudgedCell:
        """Judge policies on the cell, as far as it can be replayed."""
        policies = []
        reasons = []
        try:
            schedule = schedule_of(usage_span(self.store.manifest), self.options.horizon)
            replay = replay_of(self.store, self.tables, self.options, schedule, self.report)
        except NotApplicable as reason:
            return JudgedCell(None, (), str(reason))
        for resource in self.options.resources:
            try:
                policies.append(judge_policies(replay, resource, self.options, self.report))
            except NotApplicable as reason:
                reasons.append(str(reason))
        return JudgedCell(replay, policies, "; ".join(reasons))

    def rows_of_incidents(self, judged: JudgedCell) -> Rows:
        """Return what would have broken."""
        replay, policies = judged.require()
        return incidents.compute(self.store, replay, policies, self.options, self.report)

    def rows_of_nodes(self, promised: tuple[float, float]) -> Rows:
        """Return how many nodes hold the busiest moment."""
        at = busiest_moment(self.store)
        return nodes.compute(self.store, self.tables, at, promised, self.options, self.report)

    def rows_of_workloads(self) -> Rows:
        """Return what to set for each workload."""
        return workloads.compute(self.store, self.with_sizes, self.report)

    def rows_of_unknown(self, judged: JudgedCell) -> Rows:
        """Return what could not be seen."""
        is_assumed = self.with_sizes != self.options
        return unknown.compute(self.store, judged.replay, judged.policies, self.options, is_assumed)


def advise(
    store: Store | str | Path,
    options: AdviceOptions | None = None,
    report: Report = no_report,
) -> Advice:
    """Return the advice about a cell.

    Parameters
    ----------
    store
        An open store, or its path.
    options
        What to aim at; by default what suits the trace.
    report
        Called with the step, how much of it is done, and how much there is.

    Raises
    ------
    UsageError
        For a policy, recommender or table of prices that is none.

    Notes
    -----
    A part that the store cannot answer says why (`Result.not_applicable`); the others are there all the same.
    """
    opened = open_store(store) if isinstance(store, str | Path) else store
    adviser = Adviser(
        store=opened,
        tables=EngineTables.of(opened, memory=opened.memory),
        options=with_stored_sizes(options or AdviceOptions(), opened.manifest),
        report=report,
    )
    judged = adviser.judge()
    answer = adviser.answer
    value_answer = answer(value.VALUE, lambda: value.compute(judged.require()[1]))
    promised = promised_shares(value_answer)
    return Advice(
        store=opened,
        options=adviser.options,
        value=value_answer,
        periods=answer(periods.PERIODS, lambda: periods.compute(judged.require()[1])),
        machines=answer(nodes.NODES, lambda: adviser.rows_of_nodes(promised)),
        incidents=answer(incidents.INCIDENTS, lambda: adviser.rows_of_incidents(judged)),
        workloads=answer(workloads.WORKLOADS, adviser.rows_of_workloads),
        unknown=answer(unknown.UNKNOWN, lambda: adviser.rows_of_unknown(judged)),
    )


def promised_shares(value_result: Result) -> tuple[float, float]:
    """Return which shares of the requests of CPU and memory may be promised; all of one that was not kept or judged."""
    shares = {"cpu": 1.0, "memory": 1.0}
    for row in value_result.table.to_pylist():
        if Verdict(row["verdict"]).is_advised:
            shares[row["resource"]] = 1.0 - row["savings"]
    return shares["cpu"], shares["memory"]
