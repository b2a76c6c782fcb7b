"""Every extension of a file or module, each checked by the contract of its kind, in a process that can be stopped."""

from __future__ import annotations

import faulthandler
import json
import multiprocessing
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from borgtrace.catalog import QUESTION_KINDS
from borgtrace.errors import UsageError
from borgtrace.extensions import Registry, import_source
from borgtrace.forecast import FORECASTER_KINDS
from borgtrace.overcommit.policies import POLICY_KINDS
from borgtrace.overcommit.recommenders import RECOMMENDER_KINDS
from borgtrace.placement import ESTIMATOR_KINDS
from borgtrace.scheduling import SCHEDULER_KINDS
from borgtrace.schema.dialects import DIALECT_KINDS
from borgtrace.testing.dialects import check_dialect
from borgtrace.testing.estimators import check_estimator
from borgtrace.testing.forecasters import check_forecaster
from borgtrace.testing.policies import check_policy
from borgtrace.testing.questions import check_question_on_a_cell
from borgtrace.testing.recommenders import check_recommender
from borgtrace.testing.schedulers import check_scheduler
from borgtrace.testing.trial import ContractError

_POLL_S = 0.1
_GRACE_S = 5.0
"""Seconds that a process may take to say where it stands, after its time is up."""
_LINE_OF_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+) in')


CheckedKind = tuple[Registry[Any], Callable[[Any], None]]
"""A kind of extension, and the check of its contract."""


@dataclass(frozen=True)
class CheckedExtension:
    """What came out for one extension.

    Attributes
    ----------
    kind, name
        What it is, such as ``policy``, and what it is called.
    failures
        What is wrong, one sentence each; empty where its contract is kept.
    """

    kind: str
    name: str
    failures: tuple[str, ...]


def checks() -> list[CheckedKind]:
    """Return every kind of extension with the check of its contract."""
    return [
        (QUESTION_KINDS, check_question_on_a_cell),
        (DIALECT_KINDS, check_dialect),
        (POLICY_KINDS, check_policy),
        (RECOMMENDER_KINDS, check_recommender),
        (ESTIMATOR_KINDS, check_estimator),
        (SCHEDULER_KINDS, check_scheduler),
        (FORECASTER_KINDS, check_forecaster),
    ]


def check_source(source: str, kinds: Sequence[CheckedKind]) -> Iterator[CheckedExtension]:
    """Check every extension of a file or module in this process.

    Parameters
    ----------
    source
        ``my_policy.py``, or the name of a module.
    kinds
        What is looked for in it.

    Yields
    ------
    CheckedExtension
        Of each, in the order of the kinds.

    Raises
    ------
    UsageError
        It cannot be imported, or has no extension of any kind.
    """
    import_source(source)
    has_any = False
    for registry, check in kinds:
        for name in registry.add_from(source):
            has_any = True
            yield CheckedExtension(registry.noun, name, _failures(check, registry[name]))
    if not has_any:
        wanted = [f"{registry.wanted} ({registry.noun})" for registry, _ in kinds]
        raise UsageError(source, "no extension in it", expected=", ".join(wanted))


def _failures(check: Callable[[Any], None], extension: Any) -> tuple[str, ...]:
    try:
        check(extension)
    except ContractError as error:
        return error.failures
    return ()


def check_within(source: str, seconds: float) -> list[CheckedExtension]:
    """Check every extension of a file or module in a process of its own, which is ended when its time is up.

    Parameters
    ----------
    source
        As for :func:`check_source`.
    seconds
        How long all of it may take.

    Raises
    ------
    UsageError
        It cannot be imported, has no extension, or does not end in time; the message has the line that runs then.
    """
    with TemporaryDirectory() as folder:
        context = multiprocessing.get_context("spawn")
        is_ready = context.Event()
        process = context.Process(
            target=_check_in_process, args=(source, seconds, Path(folder), is_ready)
        )
        process.start()
        # Importing borgtrace is not the time of the extension.
        while process.is_alive() and not is_ready.wait(_POLL_S):
            pass
        process.join(seconds + _GRACE_S)
        if process.is_alive():
            process.kill()
            process.join()
        answer = Path(folder, "answer.json")
        if answer.exists():
            return _read_answer(answer)
        trace = Path(folder, "trace.txt").read_text(encoding="utf-8")
    raise _unfinished(source, seconds, process.exitcode, trace)


def _check_in_process(source: str, seconds: float, folder: Path, is_ready: Event) -> None:
    kinds = checks()
    is_ready.set()
    with (folder / "trace.txt").open("w") as trace:
        # Ends the process even within compiled code, and says where it was.
        faulthandler.dump_traceback_later(seconds, exit=True, file=trace)
        faulthandler.enable(trace)
        answer: dict[str, Any]
        try:
            answer = {"verdicts": [asdict(verdict) for verdict in check_source(source, kinds)]}
        except UsageError as error:
            answer = {"error": [error.where, error.what, error.expected, error.got, error.way_out]}
        faulthandler.cancel_dump_traceback_later()
    # Written beside and renamed: a process that is ended meanwhile leaves no half of it.
    (folder / "answer.part").write_text(json.dumps(answer), encoding="utf-8")
    (folder / "answer.part").rename(folder / "answer.json")


def _read_answer(file: Path) -> list[CheckedExtension]:
    answer = json.loads(file.read_text(encoding="utf-8"))
    if "error" in answer:
        where, what, expected, got, way_out = answer["error"]
        raise UsageError(where, what, expected=expected, got=got, way_out=way_out)
    return [
        CheckedExtension(verdict["kind"], verdict["name"], tuple(verdict["failures"]))
        for verdict in answer["verdicts"]
    ]


def _unfinished(source: str, seconds: float, exit_code: int | None, trace: str) -> UsageError:
    """Return the error of a process that ended without an answer."""
    is_late = trace.startswith("Timeout")
    file = str(Path(source).resolve())
    lines = [match["line"] for match in _LINE_OF_FRAME.finditer(trace) if match["file"] == file]
    where = f"{source}:{lines[0]}" if lines else source
    if is_late or exit_code is None:
        return UsageError(
            where,
            f"not done after {seconds:g} s",
            way_out="does this line repeat for ever? --timeout allows more time",
        )
    return UsageError(where, "the process that ran it ended", got=f"exit code {exit_code}")
