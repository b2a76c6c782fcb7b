"""Run every command on stores of ten minutes to a week of five kinds, and report what ends without an answer.

    python scripts/walk_commands.py FOLDER [--trace SHARED/trace] [--kind own …] [--span 2h …]

A command ends well with an answer, or with one plain sentence that says why there is none and what to do instead.
Everything else is a dead end: a traceback, a code without a sentence, a sentence without a way out, a hint that cannot
be pasted. The report is FOLDER/walk.csv, a line for each command and store; FOLDER/endings has all that each printed,
to be read. The exit code is 1 where there is a dead end.
"""

from __future__ import annotations

import argparse
import csv
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from walking.lines import Line, lines_on, lines_without_store
from walking.running import Ended, run, run_explorer
from walking.stores import KINDS, ROOT, SPANS, make_store
from walking.verdicts import verdict_on

NO_STORE = "none"


@dataclass(frozen=True)
class Ending:
    """How a command ended on a store."""

    store: str
    command: str
    code: int
    seconds: float
    verdict: str
    last_line: str


def main() -> int:
    """Make the stores, walk, write the report, and return the exit code."""
    arguments = parsed_arguments()
    folder: Path = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    endings: list[Ending] = []
    for walk in walks(arguments, folder):
        for ending in walk:
            endings.append(ending)
            line = f"{ending.verdict:<9} {ending.store:<15} {ending.command}: {ending.last_line}"
            print(line, flush=True)
        write_report(endings, folder / "walk.csv")
    dead_ends = [ending for ending in endings if ending.verdict == "DEAD END"]
    print(f"{len(endings)} commands, {len(dead_ends)} dead ends", file=sys.stderr)
    return 1 if dead_ends else 0


def parsed_arguments() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trace", type=Path, default=ROOT.parent / "shared" / "trace")
    parser.add_argument("--kind", action="append", choices=[*KINDS, NO_STORE])
    parser.add_argument("--span", action="append", choices=list(SPANS))
    parser.add_argument("--only", action="append", default=[], help="a command to run")
    parser.add_argument("--without", action="append", default=[], help="a command to skip")
    return parser.parse_args()


def walks(arguments: argparse.Namespace, folder: Path) -> Iterator[Iterator[Ending]]:
    """Return the walk over each store, made when it is not there, and the one without a store."""
    out = folder / "out"
    for kind in arguments.kind or (NO_STORE, *KINDS):
        if kind == NO_STORE:
            yield walk(NO_STORE, folder, chosen(lines_without_store(out), arguments))
            continue
        for span in arguments.span or SPANS:
            store = folder / f"{kind}-{span}"
            if store.exists() or make_store(kind, span, store, arguments.trace):
                yield walk(store.name, folder, chosen(lines_on(store, out), arguments))
            else:
                print(f"{store.name}: no store", file=sys.stderr)


def chosen(lines: Sequence[Line], arguments: argparse.Namespace) -> list[Line]:
    """Return the lines of the commands that are asked for."""
    only = arguments.only or [line.command for line in lines]
    return [
        line for line in lines if line.command in only and line.command not in arguments.without
    ]


def walk(name: str, folder: Path, lines: Sequence[Line]) -> Iterator[Ending]:
    """Run lines one after the other, each in an empty folder, and keep what they print."""
    out = folder / "out"
    for line in lines:
        subprocess.run(["rm", "-rf", str(out)], check=True)
        for words in line.before:
            run(*words)
        start = run_explorer if line.command == "explore" else run
        ended = start(*line.words)
        text = shlex.join(map(str, line.words)).replace(f"{folder}/", "")
        keep(folder / "endings" / name, text, ended)
        yield Ending(
            store=name,
            command=text,
            code=ended.code,
            seconds=ended.seconds,
            verdict=verdict_on(ended),
            last_line=ended.last_line[:300],
        )


def keep(folder: Path, text: str, ended: Ended) -> None:
    """Write what a command printed into a file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "-", text)[:80]
    printed = f"$ borgtrace {text}\n[{ended.code}] {ended.seconds} s\n"
    (folder / f"{name}.txt").write_text(f"{printed}\n{ended.stdout}\n-- stderr\n{ended.stderr}")


def write_report(endings: Sequence[Ending], path: Path) -> None:
    """Write a line for each command and store."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["store", "command", "code", "seconds", "verdict", "last_line"])
        for ending in endings:
            rows.writerow(vars(ending).values())


if __name__ == "__main__":
    sys.exit(main())
