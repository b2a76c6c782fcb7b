"""Compile ahead what commands compile on their first run: each runs once on a tiny cell, in a process of its own."""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.util import find_spec
from pathlib import Path

from borgtrace.errors import BorgtraceError
from borgtrace.question.store_question import Report

MAKE_STORE = (
    "synth raw --machines 40 --hours 4 --seed 1",
    "ingest raw --store store",
)
"""One after the other: the commands below need the store."""
GPU_FILES = {
    "openb_node_list_gpu_node.csv": "sn,cpu_milli,memory_mib,gpu,model\nnode,8000,8192,2,T4\n",
    "openb_pod_list_default.csv": (
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time\n"
        "pod-0,1000,1024,1,500,0,60,0\n"
        "pod-1,1000,1024,1,1000,0,60,0\n"
    ),
}
"""A tiny cluster with GPUs, which no generated cell has."""
USE_STORE = (
    "simulate store",
    "simulate gpus gpus --runs 1",
    "simulate gpus gpus --departures",
    "overcommit store --policy nsigma --policy borg --policy saddlepoint --policy convolution",
    "analyze store",
    "compact store",
    "colocate store --experiment packing_base --realizations 100 --instances 2 --size 20 --out packing",
    "colocate place store",
    "dataset store shards --format npz",
    "dataset store records --format tfrecord",
    "advise store --out advice",
    "overcommit recommend store --cores-per-unit 64 --gib-per-unit 256",
    "overcommit reclaim store --resource cpu",
    "forecast store",
)
"""Side by side: those that compile longest begin first."""
PLAY_PLACEMENT = """
from borgtrace.rl import PlacementEnv
env = PlacementEnv("store", steps=20)
env.reset(seed=1)
while not any(env.step(0)[2:4]):
    pass
"""
"""What compiles an episode of the environment for learners."""


def compile_ahead(report: Report, n_at_once: int | None = None) -> int:
    """Run every command that compiles machine code, and return how many ran.

    Takes about 170 s of CPU where nothing was compiled, and 30 s where all was.  Where Gymnasium is installed, an
    episode of :class:`borgtrace.rl.PlacementEnv` is one of them, for another minute.

    Parameters
    ----------
    report
        Called with what is done, how many commands are ready, and how many there are.
    n_at_once
        Commands that run side by side; as many as the machine has cores where None.

    Raises
    ------
    BorgtraceError
        A command failed; the message is its last line.
    """
    use_store = [borgtrace_words(command) for command in USE_STORE]
    if find_spec("gymnasium"):
        use_store.insert(0, ["-c", PLAY_PLACEMENT])
    n_commands = len(MAKE_STORE) + len(use_store)
    n_done = 0
    report("compiling", n_done, n_commands)
    with tempfile.TemporaryDirectory(prefix="borgtrace-warm-") as folder:
        write_gpu_files(Path(folder) / "gpus")
        for command in MAKE_STORE:
            run_quietly(borgtrace_words(command), Path(folder))
            n_done += 1
            report("compiling", n_done, n_commands)
        with ThreadPoolExecutor(n_at_once or os.cpu_count()) as threads:
            running = [threads.submit(run_quietly, words, Path(folder)) for words in use_store]
            for ended in as_completed(running):
                ended.result()
                n_done += 1
                report("compiling", n_done, n_commands)
    return n_commands


def write_gpu_files(folder: Path) -> None:
    """Write the cluster with GPUs."""
    folder.mkdir()
    for name, text in GPU_FILES.items():
        (folder / name).write_text(text)


def borgtrace_words(command: str) -> list[str]:
    """Return the arguments of Python that run a command of borgtrace."""
    return ["-m", "borgtrace", *shlex.split(command)]


def run_quietly(words: Sequence[str], folder: Path) -> None:
    """Run Python in a folder, as a user would, and show nothing of it.

    Parameters
    ----------
    words
        Arguments of Python.
    folder
        Where it runs.

    Raises
    ------
    BorgtraceError
        It failed.
    """
    ended = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    if ended.returncode:
        lines = ended.stderr.strip().splitlines()
        raise BorgtraceError(
            "borgtrace.rl" if words[0] == "-c" else " ".join(words[1:]),
            "it failed on a tiny cell, so that not all is compiled",
            got=lines[-1] if lines else "",
            way_out="leave out --warm: each command compiles what it needs when it first runs",
        )
