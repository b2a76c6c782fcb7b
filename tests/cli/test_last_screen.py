"""The last 24 lines of each command on a terminal of 80 columns: they hold the answer.

``BORGTRACE_WRITE_SCREENS=1 pytest tests/cli/test_last_screen.py`` writes the files below ``screens`` anew; read the
difference before it is committed.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from borgtrace.assistants import configuration
from borgtrace.cli.app import COMMANDS, app
from borgtrace.cli.commands import demo, doctor
from borgtrace.cli.commands.doctor import MachineCheck
from tests.cli.screen_inputs import files_of_bucket, write_inputs
from tests.cli.terminal_screen import last_screen, printed_on_terminal
from tests.cli.test_hints import check_words, words_of
from tests.fetch.conftest import Bucket
from tests.fetch.conftest import serving as serving_bucket
from tests.fetch.fake_prometheus import FakePrometheus
from tests.fetch.fake_prometheus import serving as serving_series
from tests.fetch.small_cluster import START, cluster

SCREENS = Path(__file__).parent / "screens"
PACKING = "--tasks 12 --size 6 --instances 2 --realizations 100"
LINES = {
    "demo": "demo demo-out --machines 10 --hours 1",
    "fetch": "fetch 2011 fetched --tables machine_events,machine_attributes --base-url {bucket}",
    "fetch dry run": "fetch 2011 later --tables machine_events --base-url {bucket} --dry-run",
    "fetch prometheus": f"fetch prometheus {{series}} answers --since {START} --until {START + 1800}",
    "synth": "synth synthetic --machines 2 --hours 1",
    "ingest": "ingest raw --store ingested",
    "ingest dry run": "ingest raw --store planned --dry-run",
    "ingest own": "ingest own.csv nodes.csv --dialect own.toml --store ingested-own",
    "ingest guessed": "ingest guessed.csv --store guessed --capacity 8cores,16GiB --yes",
    "ingest refused": "ingest refused --store refused-store",
    "dialect sniff": "dialect sniff guessed.csv",
    "dialect list": "dialect list",
    "info": "info cell-2011",
    "info own": "info own",
    "sql": "sql cell-2011 'select * from instance_usage'",
    "trace": "trace cell-2011 100 0",
    "trace own": "trace own web-7",
    "machine": "machine cell-2011 7",
    "machine own": "machine own node-01",
    "machine own at": "machine own node-01 --at 2026-11-01T01:00",
    "explore": "explore own",
    "mcp": "mcp own --config",
    "analyze": "analyze cell-2011 machine_shapes",
    "analyze own": "analyze own utilization",
    "analyze several": "analyze own machine_shapes queue_length task_totals --out out-analyze",
    "compare": "compare cell-2011 own",
    "reproduce": "reproduce zhu2015 cell-2011 --only fig-8 --out reproduced",
    "reproduce list": "reproduce --list",
    "report": "report cell-2011 report.html machine_shapes",
    "dataset": "dataset own traces --min-length 5 --max-length 40 --format npz",
    "dataset histogram": "dataset own --histogram",
    "forecast": "forecast cell-2011 --out out-forecast",
    "forecast board": "forecast vms.parquet --board bitbrains_rnd/5T/short",
    "export": "export own exported --layout jobs",
    "advise": "advise own --out advice.html --policy borg:phi=0.9 --recommender vpa",
    "overcommit": "overcommit cell-2011",
    "overcommit own": "overcommit own --policy limit --policy borg:phi=0.9",
    "overcommit out": "overcommit cell-2011 --policy limit --policy borg:phi=0.2 --out out-overcommit",
    "overcommit target": "overcommit target cell-2011 --target 0.01",
    "overcommit reclaim": "overcommit reclaim cell-2011 --resource cpu",
    "overcommit recommend": "overcommit recommend cell-2011 --resource cpu --cores-per-unit 64",
    "overcommit explain": "overcommit explain cell-2011 7 --at 100s --resource cpu --policy limit",
    "experiment": "experiment experiment.toml --out out-experiment",
    "experiment dry run": "experiment experiment.toml --out out-experiment --dry-run",
    "colocate": "colocate cell-2011 --experiment packing_base",
    "colocate own": f"colocate own --experiment packing_advice {PACKING}",
    "colocate place": "colocate place --moments moments.csv",
    "colocate pool": "colocate pool own --out own.pool",
    "compact": "compact cell-2011 --what-if limits --what-if no-constraints --out out-compact",
    "simulate": "simulate cell-2011 --policy recorded --policy best-fit --out out-simulate",
    "simulate gpus": "simulate gpus gpus --runs 2 --ties rank --ties drawn",
    "subset": "subset own part --machines node-01",
    "merge": "merge events usage merged",
    "verify": "verify cell-2011",
    "views": "views --cell a --dataset project.borg_a",
    "check": "check half.py",
    "doctor": "doctor",
}
"""A command line for each screen, by the name of its file; places are relative to a folder of inputs."""
CHECKS = [
    MachineCheck("borgtrace", "0.1.0"),
    MachineCheck("cores", "2"),
    MachineCheck("tensorflow", None, "reading datasets with TensorFlow"),
    MachineCheck("Java", None, "Spark, which needs Java 17 or later"),
]
"""A machine, for the doctor."""
DISK = SimpleNamespace(total=100 * 10**9, used=50 * 10**9, free=50 * 10**9)
FIRST_WORDS = sorted({name.split()[0] for name in COMMANDS})
COPIED = re.compile(rf"borgtrace ((?:{'|'.join(FIRST_WORDS)})\b[^|>;`#\n]*)")
"""A command that is printed to be copied, up to where a shell or a sentence goes on."""
MANY_DIGITS = re.compile(r"(?<![\w.])(?:[1-9]\d*\.\d+|0\.0*[1-9]\d*)(?![\w.])")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which all commands run."""
    folder = tmp_path_factory.mktemp("screens")
    write_inputs(folder)
    return folder


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Where a bucket with the files of 2011 is served, and the series of a small cluster."""
    files = files_of_bucket(tmp_path_factory.mktemp("bucket"))
    with (
        serving_bucket(Bucket(files)) as bucket,
        serving_series(FakePrometheus(cluster(minutes=40))) as prometheus,
    ):
        yield {"bucket": bucket.url, "series": prometheus.url}


@pytest.fixture(autouse=True)
def no_work_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run no steps of the demo, look at an invented machine, and end the explorer once it is announced."""
    monkeypatch.setattr(demo, "run_step", lambda step, log: 2.0)
    monkeypatch.setattr(doctor, "checks", lambda: CHECKS)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: DISK)
    program = ["/usr/bin/python3", "-m", "borgtrace", "mcp", "/data/own"]
    monkeypatch.setattr(configuration, "whole_paths", lambda store: program)
    monkeypatch.setattr(webbrowser, "open", lambda url: signal.raise_signal(signal.SIGINT))
    # Somebody would be asked whether to look at the demo now.
    monkeypatch.setenv("CI", "true")


@pytest.mark.parametrize("name", LINES)
def test_the_last_screen_holds_the_answer(
    name: str, inputs: Path, addresses: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(inputs)
    text = printed_on_terminal(shlex.split(LINES[name].format(**addresses)), monkeypatch)
    monkeypatch.undo()
    shown = last_screen(text)
    path = SCREENS / f"{name.replace(' ', '-')}.txt"
    if os.environ.get("BORGTRACE_WRITE_SCREENS"):
        path.write_text(shown)
    assert shown == path.read_text()
    check_what_is_copied(text)


def check_what_is_copied(text: str) -> None:
    """Parse each command that is printed: it has no placeholder, and its options exist."""
    for copied in COPIED.findall(text):
        words = words_of(f"borgtrace {copied.rstrip('. ')}")
        assert not {"STORE", "OUT", "DIR", "SRC"} & set(words), copied
        check_words(words)


@pytest.mark.parametrize("name", [name for name in LINES if name not in ("sql", "verify")])
def test_numbers_have_four_digits(name: str) -> None:
    text = (SCREENS / f"{name.replace(' ', '-')}.txt").read_text()
    for number in MANY_DIGITS.findall(text):
        assert len(number.replace(".", "").lstrip("0")) <= 4, number
    # What stands before an arrow is a text of a file.
    assert not re.search(r"(?<![\w(.])\d{7,}(?!\w| →)", text)


def test_each_command_has_a_screen() -> None:
    group = typer.main.get_command(app)
    shown = set()
    for line in LINES.values():
        words = shlex.split(line)
        context = group.make_context("borgtrace", list(words))
        command, _, _ = group.resolve_command(context, words)  # type: ignore[attr-defined]
        shown.add(command)
    assert shown == set(COMMANDS)


def test_no_screen_is_left_of_a_command_line_that_is_gone() -> None:
    names = {f"{name.replace(' ', '-')}.txt" for name in LINES}
    assert {path.name for path in SCREENS.iterdir()} == names
