"""Names and values reach SQL through the quoting functions of `borgtrace.engine.identifiers`, or as parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

import borgtrace
from tests.architecture.sql_text import unquoted_values

SOURCE = Path(borgtrace.__file__).parent
ALLOWED = {
    "cli/bigquery.py": "names of tables declared in lifecycle",
    "cli/commands/demo.py": "the command of a demo, which is run as one",
    "datasets/trace_index.py": "columns of a dataset, declared in its own module",
    "engine/typed_sql.py": "types that Ibis writes, and a query that it compiled",
    "export/files/raw.py": "columns of a dialect of Google's, declared in schema",
    "export/jobs/sqlite.py": "columns of canonical tables, quoted where they are listed",
    "lifecycle/cache.py": "types that Ibis writes, and a query that it compiled",
    "lifecycle/by_machine/dealing.py": "names that are quoted where they are listed",
    "overcommit/pools.py": "columns of a metric, declared in its own module",
    "question/comparison.py": "names that are quoted where they are listed",
    "question/job_distances.py": "measures that the module itself wrote, under quoted names",
    "report/task_life.py": "columns that are listed in the module, and ids of a task",
    "scheduling/event_log.py": "names of canonical tables",
    "store/criteria.py": "a condition that the module itself wrote",
}
"""Modules that put other parts into SQL, with the reason why no foreign text can be among them."""


def test_names_and_values_in_sql_are_quoted():
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name not in ALLOWED:
            found += [f"{name}:{value.line}: {value.code}" for value in unquoted_values(path)]
    assert not found, "quote with borgtrace.engine.identifiers, or bind a parameter"


@pytest.mark.parametrize(
    "code",
    [
        'f"SELECT {name} FROM t"',
        "f\"SELECT a FROM t WHERE a = '{value}'\"",
        'f"SELECT a FROM t WHERE a = {value!r}"',
        '"SELECT {} FROM t".format(name)',
        '"SELECT a FROM t WHERE b = %s" % value',
        '"SELECT a FROM " + table',
        'f"select {name} from t"',
        'f"CASE WHEN {text} IS NULL THEN 1 END"',
        "f\"SELECT {', '.join(names)} FROM t\"",
        "f\"SELECT {', '.join(str(name) for name in names)} FROM t\"",
    ],
)
def test_other_ways_are_noticed(tmp_path, code):
    path = tmp_path / "module.py"
    path.write_text(f"x = {code}\n")
    assert len(list(unquoted_values(path))) == 1


@pytest.mark.parametrize(
    "code",
    [
        'f"SELECT {quoted(name)} FROM {files_sql(paths)} WHERE {condition_sql}"',
        'f"SELECT a FROM t WHERE a = {literal(value)} AND b > {int(n)} AND c < {AFTER_TRACE}"',
        "f\"SELECT {', '.join(quoted(name) for name in names)} FROM t\"",
        '"SELECT a " + "FROM t"',
        'f"{what} come from {where}"',
    ],
)
def test_quoted_parts_pass(tmp_path, code):
    path = tmp_path / "module.py"
    path.write_text(f"x = {code}\n")
    assert not list(unquoted_values(path))
