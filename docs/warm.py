"""A process that has imported borgtrace forks itself for each command of the pages.

Importing takes two seconds a command, most commands of the pages a tenth of that.  A stand-in for ``borgtrace`` (and
for ``python -c``) hands its arguments, folder, environment and open files to the process, which forks; signals are
passed on, the exit code comes back.

A second kind of stand-in is for commands without the rights of root, which may read and write anywhere.

    python docs/warm.py SOCKET      the process, until its standard input ends
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_STAND_IN = """#!{python} -IS
import json, os, signal, socket, sys
name, rest = os.path.basename(sys.argv[0]), sys.argv[1:]
if name == "python" and rest[:1] != ["-c"]:
    os.execv({python!r}, [{python!r}, *rest])
with socket.socket(socket.AF_UNIX) as server:
    server.connect({path!r})
    request = dict(name=name, rest=rest, folder=os.getcwd(), environment=dict(os.environ), is_root={is_root})
    request = json.dumps(request).encode()
    socket.send_fds(server, [len(request).to_bytes(8, "big")], [0, 1, 2])
    server.sendall(request)
    answers = server.makefile()
    child = int(answers.readline())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os.kill(child, number))
    status = int(answers.readline())
if os.WIFSIGNALED(status):
    if os.WTERMSIG(status) != signal.SIGKILL:
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
    os.kill(os.getpid(), os.WTERMSIG(status))
sys.exit(os.waitstatus_to_exitcode(status))
"""

_HEAVY = (".tensorflow", ".pytorch", ".spark", "__main__")
"""Modules that few commands need, and what runs when it is imported."""
_LATE = (
    "altair",
    "jsonschema",
    "pyarrow.acero",
    "pyarrow.dataset",
    "pydantic.json_schema",
    "pydantic.type_adapter",
    "rich.progress",
    "typer.main",
    "uvicorn",
)
"""What else is imported late."""
_DROP_CAPABILITY, _CAPABILITY_VERSION = 24, 0x20080522
"""Constants of Linux: PR_CAPBSET_DROP, and the version of what `capset` reads."""


@contextmanager
def warm_commands(folder: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """Start the process, and yield a folder of stand-ins for the front of ``PATH``.

    Parameters
    ----------
    folder
        A new folder, which is made.
    environment
        The environment in which the process starts; commands bring their own.
    """
    with warm_process(folder.with_name(f"{folder.name}-socket"), environment) as path:
        yield write_stand_ins(folder, path)


@contextmanager
def warm_process(path: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """Start the process, and yield the path of its socket; commands wait until it has imported everything."""
    command = [sys.executable, __file__, str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as server:
        # It says one line when it listens.
        assert server.stdout
        assert server.stdout.readline()
        yield path
        server.communicate()


def write_stand_ins(folder: Path, path: Path, *, is_root: bool = True) -> Path:
    """Make a folder of stand-ins for commands, which the process at a socket runs.

    Parameters
    ----------
    folder
        A new folder, which is made.
    path
        The socket of `warm_process`.
    is_root
        Whether commands keep the rights of root where the process has them.
    """
    folder.mkdir()
    for name in ("borgtrace", "python"):
        text = _STAND_IN.format(python=sys.executable, path=str(path), is_root=is_root)
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


def _serve(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        print("ready", flush=True)
        # Who connects waits until everything is imported.
        _import_all()
        # The collector of a child then leaves alone, and so does not copy, what is there already.
        gc.collect()
        gc.freeze()
        # The end of its input is the end of whoever started this process.
        threading.Thread(target=lambda: (os.read(0, 1), os._exit(0)), daemon=True).start()
        while True:
            client, _ = listening.accept()
            request, files = _request(client)
            if request is None:
                # Whoever asked was ended meanwhile.
                client.close()
                _close(files)
                continue
            child = os.fork()
            if not child:
                listening.close()
                client.close()
                _end(_become(request, files))
            # Before the next fork: its child would hold them too, and who reads this one's output wait for its end.
            _close(files)
            threading.Thread(target=_attend, args=(client, child), daemon=True).start()


def _request(client: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """Read what a stand-in asks for, with its files; None where it ended before all was said."""
    header, files, _, _ = socket.recv_fds(client, 8, 3)
    size = int.from_bytes(header, "big")
    text = bytearray()
    while len(text) < size:
        part = client.recv(size - len(text))
        if not part:
            break
        text += part
    is_whole = len(files) == 3 and len(text) == size > 0
    return json.loads(text) if is_whole else None, files


def _close(files: list[int]) -> None:
    for file in files:
        os.close(file)


def _attend(client: socket.socket, child: int) -> None:
    """Tell a stand-in its child, and how the child ended; end the child of a stand-in that was killed."""
    with client:
        _say(client, child)
        if not _ends_before(child, client):
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        _say(client, status)


def _say(client: socket.socket, number: int) -> None:
    """Tell a stand-in a number, if it is still there."""
    with suppress(ConnectionError):
        client.sendall(f"{number}\n".encode())


def _ends_before(child: int, client: socket.socket) -> bool:
    """Wait for the end of a child or of its stand-in, which has no more to say; whether the child ended."""
    ended = os.pidfd_open(child)
    try:
        poll = select.poll()
        poll.register(ended, select.POLLIN)
        poll.register(client, select.POLLIN)
        return ended in dict(poll.poll())
    finally:
        os.close(ended)


def _become(request: dict[str, Any], files: list[int]) -> int:
    """Be the command, and return its exit code."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    # It may have been asked for already, where this process has its own.
    tempfile.tempdir = None
    if not request["is_root"]:
        _give_up_rights()
    sys.argv = [request["name"], *request["rest"]]
    try:
        if request["name"] == "borgtrace":
            from borgtrace.cli import main

            main()
        else:
            # As Python itself does for the text of a program: what lies in the folder can be imported.
            sys.path.insert(0, "")
            exec(compile(request["rest"][1], "<string>", "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _give_up_rights() -> None:
    """Drop all capabilities of this process and of those that it starts: root has its rights by them."""
    libc = ctypes.CDLL(None, use_errno=True)
    for number in range(64):
        # Numbers that this kernel does not know are refused.
        libc.prctl(_DROP_CAPABILITY, number, 0, 0, 0)
    # Three sets of capabilities, of 64 bits each: none is effective, permitted or inherited.
    header, none = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    if libc.capset(header, none):
        raise OSError(ctypes.get_errno(), "capabilities cannot be dropped")


def _end(code: int) -> None:
    """End as the interpreter does, but leave the memory to the system.

    Freeing each object of all that was imported copies every page of it: 0.7 s, most of a short command.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for file in (sys.stdout, sys.stderr):
        try:
            file.flush()
        except OSError:
            code = 120
    os._exit(code)


def _import_all() -> None:
    """Import what commands import, most of it where they need it: half of the time of a short one."""
    import borgtrace

    for module in pkgutil.walk_packages(borgtrace.__path__, "borgtrace."):
        if not module.name.endswith(_HEAVY):
            importlib.import_module(module.name)
    for name in _LATE:
        importlib.import_module(name)
    borgtrace.catalog.questions()


if __name__ == "__main__":
    _serve(sys.argv[1])
