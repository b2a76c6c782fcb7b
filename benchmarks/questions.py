"""What each question costs: CPU seconds, peak of memory and a digest of its answer, as `borgtrace analyze` asks them.

All questions, or those named, run in one process, one after the other; each line has the peak since the question began.
The limit is that of every command: 1.2 × the budget + 0.5 GB. Digests tell whether two versions answer alike.

    borgtrace synth raw --machines 460 --hours 72 && borgtrace ingest raw --store cell
    python benchmarks/questions.py cell --memory 1GB [NAME ...]
"""

from __future__ import annotations

import argparse
import hashlib
import os
from pathlib import Path

import pyarrow as pa

from borgtrace.catalog import find, questions
from borgtrace.engine.memory import parse_memory
from borgtrace.question import EngineTables, with_subjects


def cpu_seconds() -> float:
    """Return CPU seconds of this process so far."""
    times = os.times()
    return times.user + times.system


def peak_of_memory() -> float:
    """Return the peak of this process in GB since :func:`forget_peak`."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024 / 1e9
    raise SystemExit("/proc/self/status has no VmHWM: this needs Linux")


def forget_peak() -> None:
    """Let the peak begin anew (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def digest_of(answer: pa.Table) -> str:
    """Return the first digits of the SHA-256 of an answer as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, answer.schema) as stream:
        stream.write_table(answer.combine_chunks())
    return hashlib.sha256(sink.getvalue()).hexdigest()[:16]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("store", type=Path)
    parser.add_argument("names", nargs="*", help="questions; all where none is named")
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_intermixed_args()
    limit = 1.2 * parse_memory(options.memory) / 1e9 + 0.5
    tables = EngineTables.of(options.store, memory=options.memory, threads=options.threads)
    chosen = [find(name) for name in options.names] or list(questions().values())
    rows = tables.n_rows("instance_usage")
    print(f"{rows:,} usage rows, --memory {options.memory}: limit {limit:.1f} GB\n")
    print("| question | CPU s | peak GB | digest |\n|---|--:|--:|---|")
    whole, highest = 0.0, 0.0
    for question, subject in with_subjects(chosen, tables):
        forget_peak()
        before = cpu_seconds()
        result = question.run(subject)
        spent, peak = cpu_seconds() - before, peak_of_memory()
        whole += spent
        highest = max(highest, peak)
        over = " (over)" if peak > limit else ""
        print(
            f"| {question.name} | {spent:.2f} | {peak:.2f}{over} | {digest_of(result.table)} |",
            flush=True,
        )
    print(f"| **all** | **{whole:.1f}** | **{highest:.2f}** | |")


if __name__ == "__main__":
    main()
