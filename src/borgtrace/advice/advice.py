"""The advice about a cell: its parts, each an answer of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from borgtrace.advice import incidents, nodes, periods, unknown, value, workloads
from borgtrace.advice.judging import JudgedPolicies, Replay, judge_policies, replay_of
from borgtrace.advice.options import AdviceOptions
from borgtrace.advice.page import page_of, sentences_html
from borgtrace.advice.parts import AdviceParts
from borgtrace.advice.schedule import schedule_of
from borgtrace.advice.sentences import Sentences, sentences_of
from borgtrace.notation import ResourceAmounts
from borgtrace.question import EngineTables, NotApplicable, Question, Result
from borgtrace.question.answer import Rows
from borgtrace.question.store_question import Report, no_report
from borgtrace.question.study_times import usage_span
from borgtrace.scheduling.busiest import busiest_moment
from borgtrace.store import Store

ASSUMED_CORES = 64.0
ASSUMED_GIB = 256.0
"""Of the largest machine, where nobody knows it: recommenders have buckets of cores and bytes."""


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
class _Judged:
    """A cell that was replayed, and what that showed; or the reason why it was not."""

    replay: Replay | None
    policies: Sequence[JudgedPolicies]
    reason: str = ""

    def require(self) -> Replay:
        """Return the replay.

        Raises
        ------
        NotApplicable
            Where there is none.
        """
        if self.replay is None or not self.policies:
            raise NotApplicable(self.reason)
        return self.replay


def make_advice(
    store: Store,
    options: AdviceOptions | None = None,
    report: Report = no_report,
) -> Advice:
    """Return the advice about a cell.

    Parameters
    ----------
    store
        An open store.
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
    amounts = ResourceAmounts.of(
        store.manifest, *((options.cores, options.gib) if options else (0.0, 0.0))
    )
    chosen = replace(options or AdviceOptions(), cores=amounts.cores or 0.0, gib=amounts.gib or 0.0)
    tables = EngineTables.of(store, memory=store.memory)
    judged = _judge(store, tables, chosen, report)
    facts = _facts(chosen)

    def answer(question: Question, compute: Callable[[], Rows]) -> Result:
        report(question.title, 0, 1)
        return question.result(tables, facts, compute)

    value_result = answer(value.VALUE, lambda: value.compute(_policies(judged)))
    with_sizes = replace(chosen, cores=chosen.cores or ASSUMED_CORES, gib=chosen.gib or ASSUMED_GIB)
    return Advice(
        store=store,
        options=chosen,
        value=value_result,
        periods=answer(periods.PERIODS, lambda: periods.compute(_policies(judged))),
        machines=answer(
            nodes.NODES,
            lambda: nodes.compute(
                store,
                tables,
                busiest_moment(store),
                promised_shares(value_result),
                chosen,
                report,
            ),
        ),
        incidents=answer(
            incidents.INCIDENTS,
            lambda: incidents.compute(store, judged.require(), judged.policies, chosen, report),
        ),
        workloads=answer(
            workloads.WORKLOADS,
            lambda: workloads.compute(store, with_sizes, report),
        ),
        unknown=answer(
            unknown.UNKNOWN,
            lambda: unknown.compute(store, judged.replay, chosen, with_sizes != chosen),
        ),
    )


def _judge(
    store: Store,
    tables: EngineTables,
    options: AdviceOptions,
    report: Report,
) -> _Judged:
    """Judge policies on the cell, as far as it can be replayed."""
    replay = None
    policies = []
    reasons = []
    try:
        schedule = schedule_of(usage_span(store.manifest), options.horizon)
        replay = replay_of(store, tables, options, schedule, report)
    except NotApplicable as reason:
        return _Judged(None, (), str(reason))
    for resource in options.resources:
        try:
            policies.append(judge_policies(replay, resource, options, report))
        except NotApplicable as reason:
            reasons.append(str(reason))
    return _Judged(replay, policies, "; ".join(reasons))


def _policies(judged: _Judged) -> Sequence[JudgedPolicies]:
    judged.require()
    return judged.policies


def _facts(options: AdviceOptions) -> Mapping[str, Any]:
    """Return the options for the provenance: what an answer depends on, and no folder of this machine."""
    facts = asdict(options)
    del facts["jobs"]
    if isinstance(options.prices, Path):
        facts["prices"] = options.prices.name
    return facts


def promised_shares(value_result: Result) -> tuple[float, float]:
    """Return which shares of the requests of CPU and memory were promised; all of one that was not judged."""
    shares = {"cpu": 1.0, "memory": 1.0}
    for row in value_result.table.to_pylist():
        shares[row["resource"]] = 1.0 - max(row["savings"], 0.0)
    return shares["cpu"], shares["memory"]
