"""What every question has: a name, a declared answer, a chart, and what papers claim about it."""

import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Self

from borgtrace.errors import UsageError
from borgtrace.question.charts.listed import listed_chart
from borgtrace.question.claims import Claim
from borgtrace.schema.types import Table

_REFERENCE = "\n\nReference: "


@dataclass(frozen=True, slots=True)
class Question(ABC):
    """A question: how it is computed, drawn, declared, and what papers claim about it.

    What it is asked of is the subclass's: a recipe is asked of tables, an experiment of a study of a task pool.

    Parameters
    ----------
    result
        Declaration of the result, of the type of the store's tables; its name is that of the question, on the
        command line and of the files it writes.
    compute
        From the subject to one small table, pure: no clock, no global random state, no drawing.  Raises
        :class:`~borgtrace.question.NotApplicable` where the subject cannot answer.
    plot
        ``plot(result) -> alt.Chart`` (or a concatenation): sees only the result; imports altair itself.
    claims
        Published statements that are judged on the result.
    reads
        Tables the question needs; one of them without rows makes it not applicable.
    order
        Place among the questions, smaller first; it also decides the :attr:`topic`.
    sentence
        ``sentence(result)``: the answer in words, where it has some.
    """

    result: Table
    compute: Callable[..., Any]
    plot: Callable[[Any], Any]
    claims: tuple[Claim, ...] = ()
    reads: tuple[str, ...] = ()
    order: int = 100
    sentence: Callable[[Any], str] | None = None

    @classmethod
    def declared(
        cls,
        compute: Callable[..., Any],
        measures: Sequence[Callable[..., Any]] = (),
        *,
        name: str = "",
        plot: Callable[[Any], Any] | None = None,
        **facts: Any,
    ) -> Self:
        """Return the question of a module whose answer and claims the ``_answers`` of its package declare by its name.

        Parameters
        ----------
        compute
            See above.
        measures
            Functions that measure claims, where these are no plain number of the answer.
        name
            Its name, where that is not the name of the module.
        plot
            See above; where None, the package declares the chart too.
        facts
            Its other fields.
        """
        module = (plot or compute).__module__
        package, _, own = module.rpartition(".")
        name, declared = name or own, import_module(f"{package}._answers")
        claims = (*facts.pop("claims", ()), *declared.CLAIMS.of(name, measures))
        return cls(
            declared.RESULTS[name],
            compute,
            plot or listed_chart(declared.CHARTS, name, module),
            claims,
            **facts,
        )

    @property
    def name(self) -> str:
        """Name on the command line and of the files it writes."""
        return self.result.name

    @property
    def module(self) -> str:
        """Name of the module that declares it: that of its chart, for `compute` may be made elsewhere."""
        return self.plot.__module__

    @property
    def question(self) -> str:
        """First line of the module's docstring."""
        return (self._text or self.name).splitlines()[0]

    @property
    def method(self) -> str:
        """The module's docstring between its first line and the reference: how the number is computed."""
        return self._text.partition(_REFERENCE)[0].partition("\n")[2].strip()

    @property
    def reference(self) -> str:
        """Where the method comes from: the paragraph of the module's docstring that begins with ``Reference:``."""
        return " ".join(self._text.partition(_REFERENCE)[2].split()).removesuffix(".")

    @property
    def topic(self) -> str:
        """Heading under which a page lists the question.

        A package may have headings of its own: ``TOPICS``, each by the `order` from which on it holds.
        """
        package = sys.modules[".".join(self.module.split(".")[:2])]
        topics: Mapping[int, str] | None = getattr(package, "TOPICS", None)
        if topics:
            return topics[max(first for first in topics if first <= self.order)]
        # The first words of the package's docstring, as far as a colon.
        return (
            (package.__doc__ or package.__name__).strip().splitlines()[0].rstrip(".").split(":")[0]
        )

    @property
    def _text(self) -> str:
        return inspect.cleandoc(getattr(inspect.getmodule(self.plot), "__doc__", None) or "")

    @property
    @abstractmethod
    def parameters(self) -> Mapping[str, Any]:
        """Names of the parameters with their defaults."""

    @property
    def time_units(self) -> Mapping[str, int]:
        """Unit, in µs, of each parameter that is a time."""
        return {}

    def subject(self, tables: Any) -> Any:
        """Make what the question is asked of from a store's tables; questions of one kind share it."""
        return tables

    @abstractmethod
    def run(self, store: Any, engine: str | None = None, **params: Any) -> Any:
        """Return the :class:`~borgtrace.question.Result` on a subject, or on a store from which it is made.

        Parameters
        ----------
        store
            A store, a path to one, or the subject itself.
        engine
            ``"duckdb"`` (default), ``"local[n]"`` or ``"spark://host:port"``.
        params
            Parameters of the question.
        """

    def stages(self, generation: str = "2011", /, **params: Any) -> dict[str, Any]:
        """Return the relational stages over the canonical tables, computing nothing: none unless it has its own.

        Parameters
        ----------
        generation
            Trace format the expressions are made for.
        params
            Parameters of the question.
        """
        return {}

    def settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters, as given or by default.

        Raises
        ------
        UsageError
            For a parameter the question does not have.
        """
        known = self.parameters
        for name in given:
            if name not in known:
                expected = "one of " + ", ".join(known) if known else "no parameters"
                raise UsageError(self.name, "no such parameter", expected=expected, got=name)
        # Defaults too: the provenance of a result names everything it depends on.
        return {**known, **given}


def with_subjects(questions: Iterable[Question], tables: Any) -> Iterator[tuple[Question, Any]]:
    """Pair each question with what it is asked of; questions of one kind get the same subject and what it keeps.

    Parameters
    ----------
    questions
        Questions of any kind.
    tables
        Tables of the store, from which subjects are made.
    """
    made: dict[type[Question], Any] = {}
    for question in questions:
        # What an experiment is asked of (a study of a task pool) is large: one is made for all of them.
        kind = type(question)
        if kind not in made:
            made[kind] = question.subject(tables)
        yield question, made[kind]
