"""``borgtrace doctor --warm``: what commands compile is compiled ahead, once, and a failure is named."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import borgtrace
from borgtrace.cli import main, warming

AFTERWARDS = (
    "synth raw --machines 60 --hours 6 --seed 2",
    "ingest raw --store store",
    "dataset store shards",
    "dataset store records --format tfrecord",
    "colocate store --experiment packing_base --realizations 1000 --instances 2 --size 50 --out packing",
    "colocate place store",
    "overcommit store",
    "overcommit target store --target 0.01",
    "overcommit reclaim store",
    "compact store",
    "simulate store --policy best-fit --policy random",
    "forecast store",
    "advise store --out advice",
    "analyze store",
    "report store report.html",
    "compare store store",
    "reproduce zhu2015 store --out reproduced",
    "export store jobs",
    "overcommit recommend store --cores-per-unit 64 --gib-per-unit 256",
    "colocate pool store --out long-tasks",
    "subset store part --fraction 0.5",
    "verify store",
)
"""What somebody runs next."""


def test_a_command_that_fails_is_named_with_its_last_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(warming, "MAKE_STORE", ("info nowhere",))
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--warm"])
    assert ended.value.code == 1
    assert capsys.readouterr().err == (
        "borgtrace: borgtrace info nowhere: it failed on a tiny cell, so that not all is compiled: "
        "got borgtrace: nowhere: there is no such store; make one: borgtrace ingest SRC --store nowhere; "
        "leave out --warm: each command compiles what it needs when it first runs\n"
    )


def test_what_was_compiled_is_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(warming, "MAKE_STORE", ("--version",))
    monkeypatch.setattr(warming, "USE_STORE", ("--version", "doctor"))
    monkeypatch.setattr(warming, "find_spec", lambda name: None)
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--warm"])
    assert ended.value.code == 0
    output = capsys.readouterr()
    assert "Compiled what 3 commands need, in" in output.err
    assert output.out.startswith("borgtrace ")


@pytest.mark.scale
def test_no_command_compiles_afterwards(tmp_path: Path) -> None:
    # Without machine code that somebody made for a wheel: it would hide what is not compiled ahead.
    shutil.copytree(
        Path(borgtrace.__file__).parent,
        tmp_path / "sources" / "borgtrace",
        ignore=shutil.ignore_patterns("__pycache__", "machine_code"),
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path / "sources"),
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "XDG_CACHE_HOME": str(tmp_path / "own"),
    }

    def run(*words: str) -> str:
        ended = subprocess.run(
            [sys.executable, "-m", "borgtrace", *words],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        )
        return ended.stderr

    run("doctor", "--warm")
    compiling = [line for line in AFTERWARDS if "First run" in run(*line.split())]
    assert compiling == []
