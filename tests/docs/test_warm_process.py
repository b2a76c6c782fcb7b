"""The process whose forks are commands: nobody who was killed keeps others waiting, or leaves a command behind."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
from pathlib import Path

LATE_S = 300
"""After so many seconds something hangs: a process that imports everything first, on a busy machine, does not."""


def test_who_ends_amid_a_request_stops_nobody_else(python: str) -> None:
    path = re.search(r"connect\('(.*)'\)", Path(python).read_text())[1]
    for begin in (b"", (1000).to_bytes(8, "big"), (1000).to_bytes(8, "big") + b"{"):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            if begin:
                socket.send_fds(client, [begin], [0, 1, 2])
    printed = subprocess.check_output([python, "-c", "print(6 * 7)"], text=True, timeout=LATE_S)
    assert printed == "42\n"


def test_a_command_ends_with_its_stand_in(python: str) -> None:
    program = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    with subprocess.Popen([python, "-c", program], stdout=subprocess.PIPE, text=True) as stand_in:
        child = int(stand_in.stdout.readline())
        ended = os.pidfd_open(child)
        stand_in.kill()
        poll = select.poll()
        poll.register(ended, select.POLLIN)
        assert poll.poll(LATE_S * 1000)
        os.close(ended)


def test_output_ends_with_its_command_while_another_goes_on(python: str) -> None:
    with subprocess.Popen(
        [python, "-c", "print('here', flush=True); import time; time.sleep(600)"],
        stdout=subprocess.PIPE,
        text=True,
    ) as long:
        assert long.stdout.readline() == "here\n"
        short = [
            subprocess.Popen([python, "-c", "print(1)"], stdout=subprocess.PIPE) for _ in range(8)
        ]
        printed = [one.communicate(timeout=LATE_S)[0] for one in short]
        assert long.poll() is None
        long.send_signal(signal.SIGTERM)
    assert printed == [b"1\n"] * 8


def test_signals_and_exit_codes_come_through(python: str) -> None:
    ends = {"raise SystemExit(5)": 5, "import os; os.kill(os.getpid(), 9)": -signal.SIGKILL}
    for program, code in ends.items():
        ended = subprocess.run([python, "-c", program], check=False, timeout=LATE_S)
        assert ended.returncode == code
