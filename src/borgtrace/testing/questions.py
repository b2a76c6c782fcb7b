"""The contract of a question: what it declares, and what it answers without rows and on a small made cell."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path

from borgtrace.errors import BorgtraceError
from borgtrace.extensions import failure_of_extension
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.question import EngineTables, Provenance, Question
from borgtrace.question.claims import KINDS
from borgtrace.storage import new_scratch, remove
from borgtrace.synth import generate
from borgtrace.testing.trial import ContractError, printed_in_words

_GENERATIONS = ("2011", "2019")
_RAW_TABLES = {
    "job_events": "collection_events",
    "machine_attributes": "machine_attributes",
    "machine_events": "machine_events",
    "task_constraints": "instance_constraints",
    "task_events": "instance_events",
    "task_usage": "instance_usage",
}
"""Raw tables of 2011, each with the table of a store that has its rows."""


def check_question(question: Question) -> None:
    """Check that a question keeps its contract; this needs no store.

    Its columns are documented, its claims bind to columns of its answer, and on a store without rows it says why it
    cannot answer, for the trace of 2011 and that of 2019.

    Parameters
    ----------
    question
        The question.

    Raises
    ------
    ContractError
        An AssertionError with every failure at once, one sentence each.

    Examples
    --------
    >>> from borgtrace.catalog import find
    >>> check_question(find("queue_length"))
    """
    failures = [*_failures_of_the_value(question), *_failures_without_rows(question)]
    if failures:
        raise ContractError(question.name, failures)


def check_question_on_a_cell(question: Question) -> None:
    """Check a question as :func:`check_question` does, and its answer about a made cell as well.

    The cell has two machines and one hour; making it takes a few seconds, once in a process.

    Parameters
    ----------
    question
        The question.

    Raises
    ------
    ContractError
        An AssertionError with every failure at once, one sentence each.
    """
    failures = [*_failures_of_the_value(question), *_failures_without_rows(question)]
    # What fails without rows fails with some, too: once is enough.
    failures = failures or [*_failures_on_a_cell(question)]
    if failures:
        raise ContractError(question.name, failures)


def _failures_of_the_value(question: Question) -> Iterator[str]:
    yield from _failures_of_the_text(question)
    yield from _failures_of_the_columns(question)
    yield from _failures_of_the_claims(question)


def _failures_of_the_text(question: Question) -> Iterator[str]:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", question.name):
        yield f"the name {question.name!r} is not in snake_case"
    if question.doc is not None and not question.method:
        yield "the docstring has no text below its first line: it must say how the answer is computed"


def _failures_of_the_columns(question: Question) -> Iterator[str]:
    names = question.answer.names
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"column {name} is declared twice"
    for column in question.schema.columns:
        if not column.doc.endswith("."):
            yield f"the doc of column {column.name} is not a sentence: {column.doc!r}"
        if not column.unit:
            yield f"column {column.name} has no unit ('id' or '1' where there is none)"


def _failures_of_the_claims(question: Question) -> Iterator[str]:
    ids = [claim.id for claim in question.claims]
    for id_ in sorted({id_ for id_ in ids if ids.count(id_) > 1}):
        yield f"two claims are called {id_}"
    for claim in question.claims:
        if claim.kind not in KINDS:
            yield f"claim {claim.id} is of kind {claim.kind!r}; there are {', '.join(KINDS)}"
        if not (claim.source or claim.kind == "criterion"):
            yield f"claim {claim.id} names no source"
        try:
            claim.judge(question.answer.empty())
        # A measure is somebody's code or SQL: whatever it raises is its fault.
        except Exception as error:
            yield (
                f"claim {claim.id} cannot be measured on an answer without rows "
                f"({type(error).__name__}: {error}): raise NotApplicable there"
            )


def _failures_without_rows(question: Question) -> Iterator[str]:
    try:
        question.time_units  # noqa: B018 - reads the annotations of `compute`
    except NameError as error:
        yield f"an annotation of compute is not imported at run time: {error}"
        return
    for generation in _GENERATIONS:
        tables = EngineTables({}, Provenance(generation=generation))
        try:
            # What it prints is found on a made cell.
            with redirect_stdout(io.StringIO()):
                result = question.run(tables)
                question.stages(generation)
        except BorgtraceError as error:
            yield f"on a {generation} store without rows: {error}"
        except Exception as error:
            located = failure_of_extension(error)
            line = f" in {located.where}" if located else ""
            yield f"on a {generation} store without rows it raises {type(error).__name__}{line}: {error}"
        else:
            if result.not_applicable is None:
                yield f"on a {generation} store without rows it answers {result.table.num_rows} rows"


def _failures_on_a_cell(question: Question) -> Iterator[str]:
    """Ask it about a made cell: the answer has the columns, types and keys that are declared, and can be drawn."""
    printed = io.StringIO()
    n_rows = 0
    try:
        with redirect_stdout(printed):
            result = question.run(_made_cell())
            result.plot()
        n_rows = result.table.num_rows
    except BorgtraceError as error:
        yield f"on a made cell: {error}"
    except Exception as error:
        located = failure_of_extension(error)
        line = f" in {located.where}" if located else ""
        yield f"on a made cell it raises {type(error).__name__}{line}: {error}"
    if printed.getvalue():
        yield printed_in_words(printed.getvalue())
    # Without any rows there are none to lose.
    if n_rows:
        yield from _tables_not_declared(question)


def _tables_not_declared(question: Question) -> Iterator[str]:
    """Name the tables without which the answer has no rows, and no reason: those that it reads and does not declare."""
    for raw, table in _RAW_TABLES.items():
        if table in question.reads:
            continue
        try:
            with redirect_stdout(io.StringIO()):
                result = question.run(_made_cell(without=raw))
        except Exception as error:
            yield f"on a cell without {table} it raises {type(error).__name__}: add {table!r} to its `reads`"
            continue
        if result.not_applicable is None and not result.table.num_rows:
            yield f"on a cell without {table} it answers no rows, and does not say why: add {table!r} to its `reads`"


@cache
def _made_cell(without: str = "") -> Path:
    """Return a store of two machines and one hour, without a raw table."""
    folder = new_scratch("cell")
    folder.mkdir()
    generate(folder / "raw", "2011", 2, 1.0, 1)
    if without:
        remove(folder / "raw" / without)
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return folder / "store"
