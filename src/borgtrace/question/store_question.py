"""A question that is asked of a store itself, not of its tables alone."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from borgtrace.question.checks import Answer
from borgtrace.question.engine_tables import EngineTables
from borgtrace.question.question import Question
from borgtrace.question.result import Result
from borgtrace.store import Store
from borgtrace.store import open as open_store

Report = Callable[[str, int, int], None]
"""Told the step, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreQuestion(Question):
    """Base of the questions that read more of a store than tables.

    Attributes
    ----------
    setting
        Dataclass of its parameters, which all have defaults.
    report
        Told how far the answer is.
    unit
        What it is told numbers of, for a rate; empty where that is not one thing.
    """

    setting: ClassVar[type[Any]]
    report: Report = field(default=lambda step, done, total: None, compare=False)
    unit: str = ""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The fields of the setting with their defaults."""
        return asdict(self.setting())

    def run(self, store: Store | str | Path, engine: str | None = None, **params: Any) -> Result:
        """Answer the question on a store.

        Parameters
        ----------
        store
            An open store, or its path.
        engine
            Where relational work runs.
        params
            See `parameters`.

        Raises
        ------
        UsageError
            For a parameter that there is not, or a value out of range.
        """
        parameters = self.settings(params)
        # Before the store is opened: a wrong value costs no time.
        asked = self.asked(parameters)
        opened = open_store(store) if isinstance(store, str | Path) else store
        tables = EngineTables.of(opened, engine, memory=opened.memory)
        return Result.of(self, tables, parameters, lambda: self.answer(opened, tables, asked))

    def asked(self, parameters: Mapping[str, Any]) -> Any:
        """Check the parameters and return what :meth:`answer` needs of them: the setting."""
        return self.setting(**parameters)

    @abstractmethod
    def answer(self, store: Store, tables: EngineTables, asked: Any, /) -> Answer:
        """Return the rows of the answer; see :meth:`run`."""
