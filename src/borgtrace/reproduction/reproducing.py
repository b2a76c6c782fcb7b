"""Answer the questions of a paper on a store, each once, and draw its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from borgtrace import catalog
from borgtrace.errors import BorgtraceError, check_names
from borgtrace.question import EngineTables, Finding, NotApplicable, Question, Report, Result
from borgtrace.question.store_question import StoreQuestion, no_report
from borgtrace.question.study_times import study_times
from borgtrace.report.paper import STYLES, paper_figure
from borgtrace.report.papers import paper_of
from borgtrace.reproduction.published_paper import ItemAnswer, PublishedItem, PublishedPaper
from borgtrace.reproduction.reproduction import (
    ReproducedAnswer,
    ReproducedItem,
    Reproduction,
    missing_part,
)
from borgtrace.scheduling.gpus import GpuFolder
from borgtrace.store import Store


@dataclass(frozen=True, slots=True)
class ReproductionOptions:
    """How a paper is reproduced.

    Attributes
    ----------
    only
        Names of tables and figures; all where empty.
    style
        Width of the figures, a name of :data:`borgtrace.report.paper.STYLES`.
    paper_scale
        Whether experiments draw as many samples as the paper; else as many as `borgtrace colocate` does.

    Raises
    ------
    UsageError
        There is no such style.
    """

    only: Sequence[str] = ()
    style: str = "acm-column"
    paper_scale: bool = False

    def __post_init__(self) -> None:
        check_names("--style", (self.style,), STYLES, "no such style")


def reproduce(
    paper: PublishedPaper,
    store: Store | GpuFolder,
    options: ReproductionOptions | None = None,
    report: Report = no_report,
) -> Reproduction:
    """Return a paper's tables and figures as a store has them.

    Parameters
    ----------
    paper
        The paper.
    store
        An open store, or what else `paper.opens` returns.
    options
        See :class:`ReproductionOptions`.
    report
        Told the item that is worked on, how many are done, and how many there are.

    Raises
    ------
    UsageError
        The paper has no such table or figure, or there is no such style.
    """
    options = options or ReproductionOptions()
    items = paper.chosen(options.only)
    asking = Asking(paper, store, options)
    reproduced = []
    for number, item in enumerate(items):
        report(item.name, number, len(items))
        reproduced.append(ReproducedItem(item, asking.answers_of(item)))
    return Reproduction(paper, store.path.name, store.manifest, reproduced)


@dataclass(slots=True)
class Asking:
    """The questions of a paper, asked of a store: what several items share is computed once."""

    paper: PublishedPaper
    store: Store | GpuFolder
    options: ReproductionOptions
    _subjects: dict[type[Question], Any] = field(default_factory=dict)
    _results: dict[str, Result | BorgtraceError] = field(default_factory=dict)

    def answers_of(self, item: PublishedItem) -> tuple[ReproducedAnswer, ...]:
        """Answer the questions of an item."""
        return tuple(self.answer(asked) for asked in item.answers)

    def answer(self, asked: ItemAnswer) -> ReproducedAnswer:
        """Answer one question; what refuses it is a reason."""
        question = question_of(asked.question)
        result = self._result(question, asked.parameters)
        if isinstance(result, BorgtraceError):
            reason = f"not answered: {result}"
            return ReproducedAnswer(asked=asked, question=question, reason=reason, error=result)
        answer = ReproducedAnswer(
            asked=asked,
            question=question,
            result=result,
            findings=self._findings(asked, result),
        )
        reason = missing_part(asked, result)
        if reason:
            return replace(answer, reason=reason)
        return self._drawn(answer, result) if asked.shape == "figure" else answer

    def _result(self, question: Question, parameters: Mapping[str, Any]) -> Result | BorgtraceError:
        """Return the answer to a question, or what refused it."""
        values = {**self._parameters_of_store(question), **parameters}
        key = f"{question.name} {sorted(values.items())}"
        if key not in self._results:
            try:
                self._results[key] = question.run(self._subject(question), **values)
            except BorgtraceError as error:
                self._results[key] = error
        return self._results[key]

    def _subject(self, question: Question) -> Any:
        """Return what a question is asked of; experiments share their tasks."""
        if isinstance(question, StoreQuestion) or not isinstance(self.store, Store):
            return self.store
        kind = type(question)
        if kind not in self._subjects:
            tables = EngineTables.of(self.store.path, memory=self.store.memory)
            self._subjects[kind] = question.subject(tables)
        return self._subjects[kind]

    def _parameters_of_store(self, question: Question) -> dict[str, Any]:
        """Return parameters that are no defaults: times that suit the store, and the sizes of the paper."""
        from borgtrace.colocation.experiment import Experiment
        from borgtrace.colocation.options import PAPER_SCALE

        if not isinstance(self.store, Store):
            return {}
        if question.name == "compaction":
            return moment_of(self.store)
        if question.name == "overcommit":
            times = study_times(self.store)
            return {"horizon": times.horizon, "most_warmup": times.warmup}
        if self.options.paper_scale and isinstance(question, Experiment):
            return {name: PAPER_SCALE[name] for name in PAPER_SCALE if name in question.parameters}
        return {}

    def _findings(self, asked: ItemAnswer, result: Result) -> tuple[Finding, ...]:
        """Return the claims that belong to an item."""
        if asked.claims is not None:
            return tuple(one for one in result.findings if one.id in asked.claims)
        return tuple(one for one in result.findings if paper_of(one.source) is self.paper.citation)

    def _drawn(self, answer: ReproducedAnswer, result: Result) -> ReproducedAnswer:
        """Draw an answer."""
        asked = answer.asked
        question = answer.question
        if question.parameters.get("curve") == "few" and "curve" not in asked.parameters:
            # A table shows a dozen percentiles, which a curve would show as so many stairs.
            full = self._result(question, {**asked.parameters, "curve": "full"})
            result = result if isinstance(full, BorgtraceError) else full
        drawn = replace(result, question=on_axes(question, asked))
        if drawn.table.num_rows == 1:
            return replace(answer, reason="one row, which a chart would show as one dot")
        style = "acm-page" if asked.is_wide else self.options.style
        try:
            figure = paper_figure(drawn, style)
        except NotApplicable as reason:
            return replace(answer, reason=f"no picture: {reason}")
        return replace(answer, figure=figure, drawn=drawn)


def moment_of(store: Store) -> dict[str, Any]:
    """Return the busiest moment of a store as a parameter; nothing where nothing runs, as the question itself says."""
    from borgtrace.scheduling import busiest_moment

    try:
        return {"at": busiest_moment(store)}
    except NotApplicable:
        return {}


def question_of(name: str) -> Question:
    """Return a question by its name: those of the catalog, and the three that have commands of their own."""
    if name == "overcommit":
        from borgtrace.overcommit import REPLAY

        return REPLAY
    if name == "compaction":
        from borgtrace.scheduling import COMPACT

        return COMPACT
    if name == "gpu_scheduling":
        from borgtrace.scheduling.gpus import GPU_SCHEDULING

        return GPU_SCHEDULING
    return catalog.find(name)


def on_axes(question: Question, asked: ItemAnswer) -> Question:
    """Return a question whose chart is the paper's figure: drawn on its axes, or one panel of the chart."""
    if asked.draw is not None:
        return replace(question, chart=asked.draw)
    if asked.panel is None:
        return question
    panel = asked.panel

    def chart(answer: Any) -> Any:
        whole = question.chart(answer)
        # Altair calls panels by the way they lie; a chart of one panel has none.
        panels = getattr(whole, "hconcat", None) or getattr(whole, "vconcat", None)
        return panels[panel] if panels else whole

    return replace(question, chart=chart)
