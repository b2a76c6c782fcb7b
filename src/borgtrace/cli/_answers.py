"""Answers of ``borgtrace analyze`` and ``borgtrace colocate``: run, written to files, printed with their claims."""

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet

from borgtrace.cli._console import counted, steps, talk
from borgtrace.cli._grid import Column, print_grid
from borgtrace.cli._printing import print_json
from borgtrace.cli._rows import print_table
from borgtrace.errors import UsageError
from borgtrace.question import Finding, Question, Result, headline, unjudged, with_subjects
from borgtrace.question.store_question import StoreQuestion
from borgtrace.schema.ranges import list_numbers
from borgtrace.schema.time import parse_time, write_time
from borgtrace.storage import replacing, write_file
from borgtrace.store import Store

_ROWS = 40
"""Rows of a single answer on a terminal; files and pipes get all."""
# The columns of claims.csv: names of fields of a finding, behind that of its question.
_CLAIM_COLUMNS = (
    *(
        "recipe",
        "id",
        "kind",
        "statement",
        "published",
        "tolerance",
        "measured",
        "verdict",
        "reason",
        "note",
        "source",
    ),
)


def parse_settings(settings: Sequence[str], chosen: Sequence[Question]) -> dict[str, Any]:
    """Turn NAME=VALUE into parameters, of the type of their default.

    Times may be amounts such as ``1h30m``, tuples lists of numbers and ranges.

    Raises
    ------
    UsageError
        For a name that none of the chosen questions has, or a value of another type.
    """
    # One value serves all chosen questions that have the parameter; each then picks what is its own.
    known = {
        name: (default, question)
        for question in chosen
        for name, default in question.parameters.items()
    }
    found: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or name not in known:
            expected = (
                ("one of " + ", ".join(sorted(known)))
                if known
                else "none: no question here has one"
            )
            raise UsageError("--set", "no such parameter", expected=expected, got=setting)
        default, question = known[name]
        found[name] = _parse(f"--set {name}", text, default, question.time_units.get(name))
    return found


def _parse(where: str, text: str, default: Any, time_unit: int | None) -> Any:
    # Text first: "1" for a text is no number, and needs no quotes on a command line.
    if isinstance(default, str):
        return text
    if isinstance(default, tuple):
        return list_numbers(text.strip("[] "), where)
    # An amount ends in its unit; a plain number is already in the unit of the parameter.
    if time_unit and text.strip()[-1:].isalpha():
        return type(default)(parse_time(text, where) / time_unit)
    with suppress(json.JSONDecodeError):
        value = json.loads(text)
        # The only cast: 1 is meant as 1.0, but 1.5 is no count, and true (an int to Python) is no number.
        if isinstance(default, float) and type(value) is int:
            value = float(value)
        if type(value) is type(default):
            return value
    raise UsageError(where, "wrong kind of value", expected=f"like {default}", got=text)


def print_list(chosen: Sequence[Question], *, has_set: bool) -> None:
    """Print names and questions, and where the command has ``--set`` the parameters with their defaults."""
    width = max(len(question.name) for question in chosen)
    for question in chosen:
        print(f"{question.name:<{width}}  {question.title}")
        if has_set and question.parameters:
            units = question.time_units
            values = (
                f"{name}={_setting(value, units.get(name))}"
                for name, value in question.parameters.items()
            )
            print(f"{'':<{width}}  --set {', '.join(values)}")


def _setting(value: Any, time_unit: int | None) -> str:
    """Write a default as ``--set`` reads it."""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return write_time(round(value * time_unit)) if time_unit else str(value)


_FIRST_LINES = """\
-- Over the views of: borgtrace views --cell CELL --dataset PROJECT.DATASET
-- Run with: bq query --use_legacy_sql=false --dataset_id=PROJECT:DATASET
-- Rows come in any order; borgtrace computes the answers from them. Where a statement needs rows of an earlier one
-- (quantiles, sets of constraints), a placeholder stands for them.
"""


def print_sql(chosen: Sequence[Question], parameters: Mapping[str, Any]) -> None:
    """Print the BigQuery SQL of every relational stage and what it reads, shared tables first and once."""
    # Inside: the compiler of Ibis is loaded only by those who print SQL.
    from borgtrace.engine.bigquery import compile_sql
    from borgtrace.lifecycle import DERIVED
    from borgtrace.lifecycle.hosted import what_it_reads

    print(_FIRST_LINES)
    printed: set[str] = set()
    for question in chosen:
        for name, stage in question.stages("2019", **_own(question, parameters)).items():
            # Several questions share what is derived; BigQuery refuses a second table of the same name.
            if name in printed:
                continue
            sql = compile_sql(stage)
            head = (
                f"CREATE TEMP TABLE {name} AS" if name in DERIVED else f"-- {question.name}: {name}"
            )
            print(f"{what_it_reads(sql)}\n{head}\n{sql};\n")
            printed.update({name} & {*DERIVED})


def _own(question: Question, parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if name in question.parameters}


def check_png(png: bool, out: Path | None) -> None:
    """Refuse pictures without a folder for them."""
    if png and out is None:
        raise UsageError("--png", "no folder to write to", way_out="name one: --out DIR")


def publish(
    answers: Iterable[Result], *, out: Path | None, png: bool, as_json: bool
) -> list[Result]:
    """Write files under `out`; print tables or claims; return the results.

    Parameters
    ----------
    answers
        What :func:`run` yields.
    out
        Folder for files; None prints only.
    png
        Whether charts are written as PNG, too.
    as_json
        Print one JSON object a line.
    """
    results = []
    for result in answers:
        results.append(result)
        # At once, and not at the end: what is answered stays when a later question is interrupted.
        if out is not None:
            write(result, out, png=png)
        if as_json:
            print_json(_facts(result))
    if out is not None:
        write_file(out / "claims.csv", claims_csv(results))
    # Several tables one after the other would be no CSV, so then the claims are the data.
    if not as_json and out is None and len(results) == 1:
        _print_one(results[0])
    elif not as_json:
        if sys.stdout.isatty():
            _print_claims(results)
        else:
            print(claims_csv(results), end="")
        _print_verdicts([finding for result in results for finding in result.findings])
    return results


def run(chosen: Sequence[Question], tables: Any, parameters: Mapping[str, Any]) -> Iterator[Result]:
    """Answer questions one after the other, as they are asked for.

    Parameters
    ----------
    chosen
        Questions, in the order of the answers.
    tables
        What they are asked of: tables of a store, or a study.
    parameters
        Values that were set; each question takes its own.
    """
    with steps() as report:
        for number, (question, subject) in enumerate(with_subjects(chosen, tables)):
            report(question.name, number, len(chosen))
            result = question.run(subject, **_own(question, parameters))
            say(result)
            yield result


def ask(
    question: StoreQuestion,
    store: Store,
    given: Mapping[str, Any],
    *,
    out: Path | None,
    png: bool,
    as_json: bool,
) -> None:
    """Answer a question that is asked of a store itself, with a bar, and publish the answer.

    Parameters
    ----------
    question, store, given
        What is asked of whom, with which parameters.
    out, png, as_json
        As for :func:`publish`.
    """
    with steps(question.unit) as report:
        result = replace(question, report=report).run(store, **given)
    say(result)
    publish([result], out=out, png=png, as_json=as_json)


def say(result: Result) -> None:
    """Tell how many rows an answer has, or why there are none."""
    rows = f"{result.table.num_rows:,} rows"
    outcome = f"not applicable: {result.not_applicable}" if result.not_applicable else rows
    talk.print(f"{result.question.name}: {outcome} ({result.provenance.seconds:.1f} s)")


def _print_one(result: Result) -> None:
    """Print the table, for people or as data, and the claims as talk."""
    if result.not_applicable is None:
        if sys.stdout.isatty():
            print_table(result.table.to_reader(), _ROWS)
        else:
            # Arrow writes to the buffer below: what Python's text layer still holds has to come first.
            sys.stdout.flush()
            pyarrow.csv.write_csv(result.table, sys.stdout.buffer)
    for finding in result.findings:
        if finding.verdict != "not applicable":
            print(finding, file=sys.stderr)
    _print_verdicts(result.findings)


def _print_claims(results: Sequence[Result]) -> None:
    """Print the claims that are judged; the reasons of the others follow as talk."""
    names = ("recipe", "id", "published", "tolerance", "measured", "verdict")
    rows = [
        {"recipe": result.question.name, **asdict(finding)}
        for result in results
        for finding in result.findings
        if finding.verdict != "not applicable"
    ]
    if rows:
        print_grid([Column(name, [str(row[name]) for row in rows]) for name in names])


def _print_verdicts(findings: Sequence[Finding]) -> None:
    """Say how many claims hold of those that could be judged, and each reason why others could not once."""
    if not findings:
        return
    print(f"{headline(findings).capitalize()}.", file=sys.stderr)
    for reason, claims in unjudged(findings).items():
        names = ", ".join(claim.id for claim in claims)
        print(
            f"Not applicable, {counted(len(claims), 'claim')}: {reason}: {names}", file=sys.stderr
        )


def write(result: Result, out: Path, *, png: bool) -> None:
    """Write one result's files into `out`; each appears whole or not at all."""
    # Only here: a command that writes no files need not load the renderer.
    import vl_convert

    name = result.question.name
    with replacing(out / f"{name}.parquet") as draft:
        pyarrow.parquet.write_table(_described(result), draft, compression="zstd")
    with replacing(out / f"{name}.csv") as draft:
        pyarrow.csv.write_csv(result.table, draft)
    # None for an answer without rows; its tables are written all the same.
    chart = result.plot()
    if chart is None:
        return
    spec = chart.to_json(indent=None)
    write_file(out / f"{name}.vl.json", spec)
    write_file(out / f"{name}.svg", vl_convert.vegalite_to_svg(spec))
    if png:
        write_file(out / f"{name}.png", vl_convert.vegalite_to_png(spec, scale=2))


def _described(result: Result) -> Any:
    """Return the table with its provenance in the file's metadata, run time aside."""
    facts = asdict(result.provenance)
    # The run time differs each time; without it the same question on the same store gives the same file.
    facts.pop("seconds")
    if result.not_applicable is not None:
        facts["not_applicable"] = result.not_applicable
    return result.table.replace_schema_metadata({"borgtrace": json.dumps(facts, sort_keys=True)})


def claims_csv(results: Iterable[Result]) -> str:
    """Return claims as CSV, a row for each: question, id, kind and the other columns of a finding."""
    text = StringIO()
    writer = csv.DictWriter(text, _CLAIM_COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for result in results:
        writer.writerows(
            {"recipe": result.question.name, **asdict(finding)} for finding in result.findings
        )
    return text.getvalue()


def sentence(result: Result) -> str | None:
    """Return the answer in words; None where it has none."""
    made = result.question.sentence
    return made(result.table) if made and result.not_applicable is None else None


def _facts(result: Result) -> dict[str, Any]:
    return {
        "recipe": result.question.name,
        "question": result.question.title,
        "not_applicable": result.not_applicable,
        "sentence": sentence(result),
        "rows": result.table.to_pylist(),
        "claims": [asdict(finding) for finding in result.findings],
        "provenance": asdict(result.provenance),
    }
