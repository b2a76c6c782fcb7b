"""Nothing that a user can name is without a word of documentation."""

from __future__ import annotations

import csv
import inspect
import re
from pathlib import Path
from pkgutil import iter_modules

import pytest

import borgtrace.cli.commands
from borgtrace.cli.app import COMMANDS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pages(generated):
    return {path: page() for path, page in generated("gen_reference").PAGES.items()}


@pytest.fixture(scope="module")
def consoles(docs):
    blocks = [
        re.findall(r"^```console\n(.*?)^```", page.read_text(), re.M | re.S)
        for page in docs.rglob("*.md")
    ]
    return "\n".join(block for found in blocks for block in found)


def sentence(text):
    return bool(text) and text[0].isupper() and text.rstrip().endswith((".", "?", "!"))


def test_every_command_has_help_an_example_and_a_run_in_some_page(generated, pages, consoles):
    commands = generated("generate.commands").commands()
    assert len(commands) > 5
    for name, command in commands.items():
        assert f"\n## {name}\n" in pages["reference/commands.md"]
        assert sentence((command.help or "").strip().partition("\n\n")[0].strip()), name
        assert "borgtrace " + name in (command.help or "") + (command.epilog or ""), (
            f"{name}: no example in its help"
        )
        assert re.search(rf"^\$ .*borgtrace {name}\b", consoles, re.M), f"{name}: no page runs it"
        assert any("--json" in parameter.opts for parameter in command.params), f"{name}: no --json"
        for parameter in command.params:
            if parameter.param_type_name == "option" and parameter.name != "help":
                assert getattr(parameter, "help", None), f"{name} {parameter.opts}: no help"


def test_every_module_of_the_commands_is_a_command():
    modules = {module.name for module in iter_modules(borgtrace.cli.commands.__path__)}
    assert modules == {name.replace(" ", "_") for name in COMMANDS}


def test_every_question_has_a_question_a_method_and_documented_columns(pages):
    from borgtrace.catalog import questions

    text = "".join(page for path, page in pages.items() if path.startswith("questions/"))
    for name, question in questions().items():
        assert f"\n## {name} " in text
        assert f"#{name}) | `{name}` |" in pages["reference/recipes.md"], name
        assert question.title.endswith("?"), name
        assert len(question.method) > 40, f"{name}: its module does not say how the number is made"
        for column in question.schema.columns:
            assert sentence(column.doc), f"{name}.{column.name}: {column.doc!r}"


def test_every_claim_has_a_statement_a_number_and_a_source(pages):
    from borgtrace.catalog import questions

    seen = set()
    for question in questions().values():
        for claim in question.claims:
            assert claim.id not in seen, f"{claim.id} twice"
            seen.add(claim.id)
            assert claim.statement, claim.id
            assert str(claim.criterion), claim.id
            assert f"| {claim.id} |" in pages["papers.md"]


@pytest.mark.parametrize("store", ["synthetic", "real-parts"])
def test_what_was_measured_belongs_to_claims_that_exist(store, docs):
    """A new claim is shown as not measured yet, so that it needs no data from outside; ``make measured`` adds it."""
    from borgtrace.catalog import questions

    with (docs / "measured" / f"{store}.csv").open(newline="") as file:
        measured = {(row["recipe"], row["id"]) for row in csv.DictReader(file)}
    claims = {
        (name, claim.id) for name, question in questions().items() for claim in question.claims
    }
    assert measured <= claims, "renamed or removed: run make measured"
    assert len(measured) > 100


def test_every_estimator_says_what_it_does(pages):
    from borgtrace.placement.estimators.registry import estimators

    for name, kind in estimators().items():
        assert f"## {name} " in pages["reference/estimators.md"]
        assert kind.about, name
        assert inspect.getdoc(kind) or inspect.getdoc(inspect.getmodule(kind)), name


def test_every_table_and_column_says_what_it_is_and_where_it_comes_from(docs):
    from borgtrace.schema import TABLES

    for table in TABLES.values():
        assert f"## {table.name}\n" in (docs / "tables.md").read_text(encoding="utf-8")
        for column in table.columns:
            assert sentence(column.doc), f"{table.name}.{column.name}: {column.doc!r}"
            assert column.unit, f"{table.name}.{column.name}"


def test_every_error_and_reason_code_is_listed(generated, pages):
    from borgtrace.schema.reasons import REASONS

    for kind in generated("generate.errors").kinds():
        assert f"| `{kind.__name__}` | {kind.exit_code} |" in pages["reference/errors.md"]
        assert sentence((inspect.getdoc(kind) or "").partition("\n")[0]), kind
    for code, reason in REASONS.items():
        assert f"| `{code}` |" in pages["reference/reasons.md"]
        assert sentence(reason.sentence), code


def test_every_public_name_is_documented(generated):
    api = generated("generate.api")
    for package in api.PACKAGES:
        for name, thing in api.public(package).items():
            if callable(thing) and (inspect.isclass(thing) or inspect.isfunction(thing)):
                assert sentence((inspect.getdoc(thing) or "").partition("\n\n")[0].strip()), (
                    f"{package}.{name}"
                )


def test_no_page_is_empty(docs, pages):
    texts = {
        **{str(page.relative_to(docs)): page.read_text() for page in docs.rglob("*.md")},
        **pages,
    }
    for path, text in texts.items():
        assert len(text) > 400, path
        assert text.startswith("# "), path
