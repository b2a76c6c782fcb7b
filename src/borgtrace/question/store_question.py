"""A question that reads more of a store than its tables."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from borgtrace.question.answer import Rows
from borgtrace.question.engine_tables import EngineTables
from borgtrace.question.question import Question, Result
from borgtrace.schema.bounds import Declaration, declarations_of
from borgtrace.store import Store
from borgtrace.store import open as open_store

NamedCode = Callable[[Any], Mapping[str, Any]]
"""From options to the classes and objects that they name, by name: those of others stand in the provenance."""
Report = Callable[[str, int, int], None]
"""Told the step, how much of it is done, and how much there is."""


def no_report(step: str, done: int, total: int) -> None:
    """Tell nobody how far an answer is."""


def no_code(options: Any) -> Mapping[str, Any]:
    """Return nothing: the options of most questions are numbers and words."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreQuestion(Question):
    """A question that reads more of a store than tables: ``compute(store, tables, options, report)``.

    Attributes
    ----------
    options
        Dataclass of its parameters, which all have defaults.
    report
        Told how far the answer is.
    code
        Says which classes and objects its options name.
    unit
        What it is told numbers of, for a rate; empty where that is not one thing.
    """

    options: type[Any]
    report: Report = field(default=no_report, compare=False)
    code: NamedCode = field(default=no_code, compare=False)
    unit: str = ""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The fields of the options with their defaults."""
        defaults = self.options()
        return {option.name: getattr(defaults, option.name) for option in fields(defaults)}

    @property
    def declarations(self) -> Mapping[str, Declaration]:
        """Nothing: the options check themselves when they are made."""
        return dict.fromkeys(self.parameters, Declaration())

    @property
    def time_units(self) -> Mapping[str, int]:
        """Unit, in µs, of each option that is a time, as the fields of the options say."""
        options: Any = self.options
        units = {}
        for name, declaration in declarations_of(options).items():
            if declaration.time_unit is not None:
                units[name] = declaration.time_unit
        return units

    def run(
        self, store: Store | str | Path, engine: str | None = None, **parameters: Any
    ) -> Result:
        """Answer the question on a store.

        Parameters
        ----------
        store
            An open store, or its path.
        engine
            Where relational work runs.
        parameters
            See `parameters`.

        Raises
        ------
        UsageError
            For a parameter that there is not, or a value out of range.
        """
        values = self.with_defaults(parameters)
        # Before the store is opened: a wrong value costs no time.
        options = self.parse_options(values)
        opened = open_store(store) if isinstance(store, str | Path) else store
        tables = EngineTables.of(opened, engine, memory=opened.memory)
        recorded = self.recorded_parameters(values)
        return self.result(
            tables,
            recorded,
            lambda: self.rows_of_store(opened, tables, options),
            code=self.code(options),
        )

    def stages(self, generation: str = "2011", /, **parameters: Any) -> dict[str, Any]:
        """Return no stages: what is asked of a store is no query over its tables."""
        return {}

    def parse_options(self, parameters: Mapping[str, Any]) -> Any:
        """Check the parameters and return the options that they make."""
        return self.options(**parameters)

    def recorded_parameters(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters as the provenance keeps them: values that JSON can hold."""
        return parameters

    def rows_of_store(self, store: Store, tables: EngineTables, options: Any, /) -> Rows:
        """Return the rows of the answer; see :meth:`run`."""
        return self.compute(store, tables, options, self.report)
