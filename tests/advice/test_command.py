"""``borgtrace advise``: one screen, the files beside it, and what it is about."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from borgtrace.cli import main
from borgtrace.cli.advice_text import LINES, WIDTH
from borgtrace.interactive import Store
from tests.advice.cluster import write_answers
from tests.fetch.fake_prometheus import FakePrometheus, serving
from tests.fetch.small_cluster import cluster

TWO_HOURS = 24
"""Slots."""
TABLES = ("value", "periods", "nodes", "incidents", "workloads", "unknown")


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

    def runner(*words: str) -> Run:
        with pytest.raises(SystemExit) as caught:
            main(list(words))
        printed = capsys.readouterr()
        return Run(int(caught.value.code or 0), printed.out, printed.err)

    return runner


@pytest.mark.wide
def test_one_screen_and_the_files(shop: Store, run: Runner, tmp_path: Path) -> None:
    """The numbers are those of the invented cluster, which the tests of the library work out by hand."""
    page = tmp_path / "advice.html"
    # Two nodes show what may be promised for ten minutes, but not for an hour.
    result = run("advise", str(shop.path), "--out", str(page), "--horizon", "10m")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert len(lines) < LINES
    # Paths are never cut.
    assert max(map(len, lines[:-2])) <= WIDTH
    assert lines[0] == "shop: 6 tasks"
    assert lines[1].startswith("CPU requests may be cut from 8 to ")
    folder = tmp_path / "advice"
    assert lines[-2:] == [f"Tables, resources.yaml for 2 owners: {folder}", f"Page: {page}"]
    for name in TABLES:
        assert (folder / f"advice_{name}.csv").exists()
        assert (folder / f"advice_{name}.parquet").exists()
    assert len(list(yaml.safe_load_all((folder / "resources.yaml").read_text()))) == 2
    assert len(list(yaml.safe_load_all((folder / "vpa.yaml").read_text()))) == 2
    html = page.read_text()
    for sentence in ("CPU requests may be cut from 8 to", "shop/web/web", "What is not known"):
        assert sentence in html
    assert "http://" not in re.sub(r'xmlns="[^"]*"', "", html).replace("data:", "")


@pytest.mark.wide
def test_the_same_store_gives_the_same_files(shop: Store, run: Runner, tmp_path: Path) -> None:
    pages = []
    for place in ("one", "other"):
        page = tmp_path / place / "advice.html"
        assert run("advise", str(shop.path), "--out", str(page)).exit_code == 0
        pages.append(page)
    one, other = (
        {path.name: path.read_bytes() for path in sorted((page.parent / "advice").iterdir())}
        for page in pages
    )
    assert one == other
    assert pages[0].read_bytes() == pages[1].read_bytes()


@pytest.mark.wide
def test_files_of_an_earlier_advice_do_not_stay(shop: Store, run: Runner, tmp_path: Path) -> None:
    page = tmp_path / "advice.html"
    assert run("advise", str(shop.path), "--out", str(page)).exit_code == 0
    assert (tmp_path / "advice" / "resources.yaml").exists()
    # By job no owner is known, so that nothing can be patched.
    assert run("advise", str(shop.path), "--out", str(page), "--by", "job").exit_code == 0
    assert not (tmp_path / "advice" / "resources.yaml").exists()
    assert not (tmp_path / "advice" / "vpa.yaml").exists()


@pytest.mark.wide
def test_files_become_a_store_first(run: Runner, tmp_path: Path) -> None:
    answers = write_answers(tmp_path / "answers", TWO_HOURS)
    store = tmp_path / "made"
    page = tmp_path / "advice.html"
    result = run("advise", str(answers), "--store", str(store), "--out", str(page))
    assert result.exit_code == 0, result.stderr
    assert (store / "manifest.json").exists()
    assert result.stdout.startswith("made: 6 tasks\n")
    # Again: nothing is read twice, and the answer is the same.
    again = run("advise", str(answers), "--store", str(store), "--out", str(page))
    assert (again.exit_code, again.stdout) == (0, result.stdout)


@pytest.mark.wide
def test_ten_minutes_get_what_they_can_have(run: Runner, tmp_path: Path) -> None:
    answers = write_answers(tmp_path / "answers", 2)
    page = tmp_path / "advice.html"
    result = run(
        "advise", str(answers), "--store", str(tmp_path / "made"), "--out", str(page), "--json"
    )
    assert result.exit_code == 0, result.stderr
    advice = json.loads(result.stdout)
    assert advice["judged"] == (
        "No policy could be judged: usage of 10 min is too short to learn from and to judge: this takes 1 h at least."
    )
    assert advice["value"] == []
    assert advice["machines"][0] == (
        "Machines of today's shapes for the 6 tasks that run at the busiest moment (2026-11-01 00:00 UTC): "
        "1 as requested; 2 are there."
    )
    assert [row["cpu_skip"] for row in advice["advice_workloads"]["rows"]] == [
        "seen for 10 min only, 4 samples",
        "seen for 10 min only, 8 samples",
    ]
    assert page.exists()


def test_a_store_stands_for_itself(shop: Store, run: Runner, tmp_path: Path) -> None:
    other = tmp_path / "usage.csv"
    other.write_text("task,time,cpu\n")
    result = run("advise", str(shop.path), str(other), "--out", str(tmp_path / "advice.html"))
    assert result.exit_code == 2
    assert result.stderr == (
        f"borgtrace: SOURCE: a store stands for itself: expected one store, or files and servers, got {shop.path}, "
        f"{other}; make one store of several first: borgtrace merge\n"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--recommender", "nobody"],
            "--recommender: no such recommender",
        ),
        (["--policy", "nothing"], "--policy: no such policy"),
        (["--prices", "none.csv"], "--prices: cannot read none.csv: No such file or directory"),
        (["--since", "7d"], "--since: no effect without the URL of a Prometheus server"),
        (
            ["--capacity", "8cores"],
            "--capacity: no effect on a store, which was made of files before: got 8cores; "
            "leave it out, or name the files",
        ),
        (
            ["--dialect", "own.toml"],
            "--dialect: no effect on a store, which was made of files before",
        ),
        (
            ["--time-zone", "UTC"],
            "--time-zone: no effect on a store, which was made of files before",
        ),
    ],
)
def test_what_is_wrong_is_said(
    shop: Store, run: Runner, tmp_path: Path, options: list[str], message: str
) -> None:
    page = tmp_path / "advice.html"
    result = run("advise", str(shop.path), "--out", str(page), *options)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith(f"borgtrace: {message}")
    assert not page.exists()


@pytest.mark.wide
@pytest.mark.parametrize("words", [(), ("prometheus",)])
def test_a_server_is_asked_first(run: Runner, tmp_path: Path, words: tuple[str, ...]) -> None:
    """Four pods for two hours: what is fetched is kept beside the store that it becomes."""
    store = tmp_path / "live"
    page = tmp_path / "advice.html"
    with serving(FakePrometheus(cluster())) as server:
        result = run(
            "advise",
            *words,
            server.url,
            "--store",
            str(store),
            "--out",
            str(page),
            "--since",
            "2026-09-22",
            "--until",
            "2026-09-22T02:00:00Z",
        )
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("live: 4 tasks\n")
    assert (tmp_path / "live.answers").is_dir()
    assert page.exists()
