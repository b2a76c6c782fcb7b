"""A paper on a store: numbers that the rows of the store give by hand, the files, and what the command prints."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import borgtrace
from borgtrace.cli import main
from borgtrace.interactive import Store
from borgtrace.reproduction import ReproductionOptions, find_paper, reproduce
from borgtrace.reproduction.files import write_reproduction
from tests.rows import chosen_columns

pytestmark = pytest.mark.wide

LACKS_USAGE = "the store holds no rows of instance_usage; ingest files that have some"


@dataclass(frozen=True)
class Run:
    """What a command came to."""

    exit_code: int
    stdout: str
    stderr: str


Runner = Callable[..., Run]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Runner:
    """Return what runs a command in this process."""

    def runner(*words: object) -> Run:
        with pytest.raises(SystemExit) as caught:
            main([str(word) for word in words])
        printed = capsys.readouterr()
        return Run(int(caught.value.code or 0), printed.out, printed.err)

    return runner


def test_published_beside_measured(four_tasks: Store, run: Runner, tmp_path: Path) -> None:
    """Four new tasks, three of which finish: one of them within 5 minutes, two within 30."""
    items = ["--only", "fig-8", "--only", "Method 3"]
    done = run("reproduce", "zhu2015", four_tasks.path, *items, "--out", tmp_path)
    assert done.exit_code == 0, done.stderr
    rows = {row["claim"]: row for row in csv.DictReader(done.stdout.splitlines())}
    assert [row["item"] for row in rows.values()] == 6 * ["Method 3"] + 6 * ["Fig. 8"]
    measured = {claim: row["measured"] for claim, row in rows.items()}
    expected = {
        "S4-total-new": "4",
        "S4-total-completed": "3",
        "S4-total-scheduled": "3",
        "S4-fig8-5min": "0.3333",
        "S4-fig8-30min": "0.6667",
    }
    assert chosen_columns(measured, expected) == expected
    # What Zhu et al. print; two hours say nothing about a month.
    assert rows["S4-fig8-5min"]["published"] == "0.4"
    assert rows["S4-total-new"]["published"] == "25424731"
    assert {row["verdict"] for row in rows.values()} == {"not judged"}
    assert all(row["reason"] for row in rows.values())
    assert (tmp_path / "zhu2015.csv").read_text() == done.stdout
    summary = done.stderr.splitlines()
    assert "2 of 2 tables and figures reproduced; none of the claims can be judged." in summary


def test_the_folder_of_files(four_tasks: Store, tmp_path: Path) -> None:
    options = ReproductionOptions(only=("fig-2", "fig-8", "method-3"))
    reproduction = reproduce(find_paper("zhu2015"), four_tasks, options)
    files = write_reproduction(reproduction, tmp_path)
    names = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*"))
    assert names == [
        "figures/zhu2015-fig-2.pdf",
        "figures/zhu2015-fig-2.svg",
        "figures/zhu2015-fig-8.pdf",
        "figures/zhu2015-fig-8.svg",
        "references.bib",
        "tables/zhu2015-fig-2.csv",
        "tables/zhu2015-fig-8.csv",
        "tables/zhu2015-method-3.csv",
        "zhu2015.csv",
        "zhu2015.html",
    ]
    assert files.n_figures == 2
    assert 'width="3.33in"' in (tmp_path / "figures" / "zhu2015-fig-8.svg").read_text()
    # The paper stands first, this software last.
    entries = re.findall(r"@misc\{([^,]*)", (tmp_path / "references.bib").read_text())
    assert entries[0].startswith("zhu")
    assert entries[-1].startswith("the")
    page = files.page.read_text()
    # In the order of the paper, whatever the order of the options.
    places = [page.index(f'<h2 id="{slug}">') for slug in ("method-3", "fig-2", "fig-8")]
    assert places == sorted(places)
    assert "25,424,731" in page
    assert page.count("<img ") == 2
    assert "SYNTHETIC" not in page
    # The same store and version give the same bytes.
    again = write_reproduction(reproduction, tmp_path / "again")
    assert again.page.read_bytes() == files.page.read_bytes()


def test_the_same_answer_is_computed_once(four_tasks: Store) -> None:
    options = ReproductionOptions(only=("fig-6", "fig-7"))
    by_item = reproduce(find_paper("zhu2015"), four_tasks, options).items
    first, second = (item.answers[0] for item in by_item)
    assert first.result is second.result
    # Two panels of one chart.
    assert first.figure is not None
    assert second.figure is not None
    assert first.figure.svg != second.figure.svg


def test_what_is_missing_says_why(four_tasks: Store, run: Runner, tmp_path: Path) -> None:
    """No usage in the store, and no question about requests at all."""
    items = ["--only", "utilization", "--only", "requests-of-tasks", "--only", "table-1"]
    done = run("reproduce", "reiss2012", four_tasks.path, *items, "--out", tmp_path, "--json")
    assert done.exit_code == 0, done.stderr
    rows = {row["item"]: row for row in json.loads(done.stdout)["rows"]}
    assert rows["Requests of tasks"]["verdict"] == "not reproduced"
    assert rows["Requests of tasks"]["reason"] == (
        "needs a question about the distribution of requests; there is none"
    )
    assert rows["Utilization"]["verdict"] == "not reproduced"
    assert (
        rows["Utilization"]["reason"]
        == "the store holds no rows of instance_usage; ingest files that have some"
    )
    assert rows["Table 1"]["claim"] == "R12-table1"
    page = (tmp_path / "reiss2012.html").read_text()
    assert f"Not reproduced: {LACKS_USAGE}." in page
    assert "1 of 3 tables and figures reproduced" in page


def test_synthetic_on_every_page_and_figure(synthetic: Path, tmp_path: Path) -> None:
    """No count of claims that hold: they are about a real cell."""
    store = borgtrace.open(synthetic)
    options = ReproductionOptions(only=("fig-7", "table-1"))
    reproduction = reproduce(find_paper("tirmazi2020"), store, options)
    files = write_reproduction(reproduction, tmp_path)
    page = files.page.read_text()
    assert "<strong>SYNTHETIC</strong>" in page
    assert "2 of 2 tables and figures reproduced." in page
    assert "(SYNTHETIC)</caption>" in page
    figure = (tmp_path / "figures" / "tirmazi2020-fig-7.svg").read_text()
    assert 'aria-label="Synthetic cell, not recorded"' in figure
    assert 'width="7in"' in figure


def test_the_list_of_papers(run: Runner) -> None:
    done = run("reproduce", "--list")
    assert done.exit_code == 0
    names = [line.split()[0] for line in done.stdout.splitlines()[1:]]
    assert names == [
        "reiss2012",
        "zhu2015",
        "verma2015",
        "janus2017",
        "tirmazi2020",
        "bashir2021",
        "fgd2023",
    ]


def test_the_list_of_items(run: Runner) -> None:
    done = run("reproduce", "bashir2021", "--list")
    assert done.exit_code == 0
    slugs = [line.split()[0] for line in done.stdout.splitlines()[1:]]
    assert slugs == ["policies", "policies-in-numbers", "parameters", "production"]
    assert "needs machines on which the policy runs" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["zhu2015"],
            "STORE: no store named; borgtrace reproduce PAPER STORE, or borgtrace reproduce --list",
        ),
        (
            [],
            "PAPER: no paper named; borgtrace reproduce PAPER STORE, or borgtrace reproduce --list",
        ),
        (
            ["nobody", "{store}"],
            "PAPER: no such paper: expected reiss2012, zhu2015, verma2015, janus2017, tirmazi2020, bashir2021, "
            "fgd2023, got nobody; what each has: borgtrace reproduce --list",
        ),
        (
            ["zhu2015", "{store}", "--style", "acm"],
            "--style: no such style: expected acm-column or acm-page, got acm",
        ),
        (
            ["zhu2015", "{store}", "--only", "appendix"],
            "--only: no such table or figure of zhu2015: got appendix; "
            "all of them: borgtrace reproduce zhu2015 --list",
        ),
    ],
)
def test_what_is_wrong_is_said(
    four_tasks: Store, run: Runner, tmp_path: Path, words: list[str], message: str
) -> None:
    filled = [word.format(store=four_tasks.path) for word in words]
    done = run("reproduce", *filled, "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert done.stderr == f"borgtrace: {message}\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("paper", "item", "legend"),
    [("zhu2015", "measure-1", "policy"), ("bashir2021", "policies", "family")],
)
def test_points_that_are_filled_or_not_have_one_legend(
    synthetic: Path, paper: str, item: str, legend: str
) -> None:
    options = ReproductionOptions(only=(item,))
    (reproduced,) = reproduce(find_paper(paper), borgtrace.open(synthetic), options).items
    figure = reproduced.answers[0].figure
    assert figure is not None, reproduced.reason
    assert re.findall(r"Symbol legend titled '(\w+)'", figure.svg) == [legend]


def test_a_figure_without_what_was_tried_is_missing(four_tasks: Store) -> None:
    """Cells of users by memory need the size of a machine, which the trace does not publish."""
    options = ReproductionOptions(only=("fig-6", "fig-7"))
    users, cells = reproduce(find_paper("verma2015"), four_tasks, options).items
    assert not users.is_reproduced
    assert users.reason == (
        "not applicable: needs --gib-per-unit: what the largest machine has is not published"
    )
    assert cells.is_reproduced
    assert cells.outcome == "no number to judge"
