"""The contract check of schedulers names each fault in one sentence; what restates ours keeps the contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from borgtrace import Scheduler
from borgtrace.extensions import import_source
from borgtrace.scheduling.lifetimes import ORACLE
from borgtrace.testing import ContractError, check_scheduler
from tests.extensions.own_code import write

FEW = "on a machine with a few tasks"
KNOWN_OF_TASK = "a task has cpu, memory, gpu, priority"
FAULTS = {
    "text": ('return "low"', f"{FEW}, score returns 'low': expected a number"),
    "nothing": ("machine.n_tasks", f"{FEW}, score returns None: is there a return at its end?"),
    "NaN": (
        "return float('nan')",
        f"{FEW}, score returns NaN: return infinity for what should not be used",
    ),
    "an exception": (
        "return 1 / (machine.cpu_free - task.cpu)",
        "on a machine that becomes full, it raises ZeroDivisionError in {file}:6: float division by zero",
    ),
    "an oracle": (
        "return task.duration",
        f"it asks for task.duration, which a scheduler does not know: {KNOWN_OF_TASK}",
    ),
    "a change of its input": (
        "task.cpu = 0\n    return 0",
        "it changes its input: a task and a machine stay as they are",
    ),
    "memory": (
        "SEEN.append(task)\n    return len(SEEN)",
        "score returns another value when it is asked again: it may depend on its arguments alone",
    ),
    "chance": (
        "return random.random()",
        "score returns another value when it is asked again: it may depend on its arguments alone",
    ),
    "no machine": (
        "return math.inf",
        "it takes none of 8 machines that have room for the task",
    ),
    "printing": (
        "print('asked')\n    return 0",
        "it prints to stdout ('asked'), which is for data: print to stderr",
    ),
}
TEXT = """import math
import random
from borgtrace import Scheduler
SEEN = []
def score(task, machine):
    {body}


SCHEDULER = Scheduler(name="own", about="a scheduler of a test", score=score)
"""


def failures_of(tmp_path: Path, text: str) -> tuple[Path, tuple[str, ...]]:
    file = write(tmp_path, "own.py", text)
    with pytest.raises(ContractError) as raised:
        check_scheduler(import_source(str(file)).SCHEDULER)
    return file, raised.value.failures


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(tmp_path: Path, fault: str) -> None:
    body, sentence = FAULTS[fault]
    file, failures = failures_of(tmp_path, TEXT.format(body=body))
    assert sentence.format(file=file) in failures


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        (
            "return len(open('scores').read()) if machine.n_tasks > 99 else 0",
            "Untyped global name 'open': Cannot determine Numba type of <class 'builtin_function_or_method'>",
        ),
        ("import math\n    return 0.0", "Use of unsupported opcode (IMPORT_NAME) found."),
    ],
)
def test_what_numba_refuses_is_named_by_its_line(tmp_path: Path, body: str, refused: str) -> None:
    file, failures = failures_of(tmp_path, TEXT.format(body=body))
    assert failures == (f"Numba cannot compile {file}:6: {refused}",)


def test_an_order_and_a_victim_are_checked(tmp_path: Path) -> None:
    text = """from borgtrace import Scheduler


def order(task):
    return task.user


SCHEDULER = Scheduler(name="own", about="a scheduler of a test", order=order, victim=lambda task: None)
"""
    _, failures = failures_of(tmp_path, text)
    assert failures == (
        f"it asks for task.user, which a scheduler does not know: {KNOWN_OF_TASK}",
        f"{FEW}, victim returns None: is there a return at its end?",
    )


def test_a_filter_answers_yes_or_no(tmp_path: Path) -> None:
    text = """from borgtrace import Scheduler


def accepts(task, machine):
    return machine.n_tasks


SCHEDULER = Scheduler(name="own", about="a scheduler of a test", accepts=accepts)
"""
    _, failures = failures_of(tmp_path, text)
    assert failures == (f"{FEW}, accepts returns 7: expected True or False",)


HALF = "for a task that takes half a GPU"
OF_DEVICES = {
    "a full device": (
        "return 2",
        f"{HALF}, device returns 2, of which 0 is free: the task takes 0.5",
    ),
    "no device": (
        "return -1",
        f"{HALF}, device returns -1: expected a place in machine.devices, 0 to 7",
    ),
    "NaN": (
        "return float('nan')",
        f"{HALF}, device returns nan: expected a place in machine.devices, 0 to 7",
    ),
    "half a place": (
        "return 0.5",
        f"{HALF}, device returns 0.5: expected a place in machine.devices, 0 to 7",
    ),
    "nothing": ("machine.devices", f"{HALF}, device returns None: is there a return at its end?"),
    "the first": (
        "return 0",
        "on a machine whose first GPU is full, device returns 0, of which 0 is free: the task takes 0.25",
    ),
    "a model": (
        "return machine.gpu_model",
        "it asks for machine.gpu_model, which a scheduler does not know: a machine has cpu_capacity, "
        "memory_capacity, gpu_capacity, cpu_free, memory_free, gpu_free, n_tasks, devices",
    ),
}


@pytest.mark.parametrize("fault", OF_DEVICES)
def test_a_fault_in_the_choice_of_a_device_is_named(tmp_path: Path, fault: str) -> None:
    body, sentence = OF_DEVICES[fault]
    text = f"""from borgtrace import Scheduler


def device(task, machine):
    {body}


SCHEDULER = Scheduler(name="own", about="a scheduler of a test", device=device)
"""
    _, failures = failures_of(tmp_path, text)
    assert failures == (sentence,)


READING_DEVICES = """from borgtrace import Scheduler


def score(task, machine):
    return sum(machine.devices) - task.gpu


SCHEDULER = Scheduler(name="own", about="a scheduler of a test", score=score)
"""


def test_a_score_may_read_the_model_and_devices(tmp_path: Path) -> None:
    text = READING_DEVICES.replace(
        "sum(machine.devices)", "machine.attributes[0] + sum(machine.devices)"
    )
    text = text.replace("machine.attributes[0]", "(2 if machine.attributes[0] < 0 else 0)")
    file = write(
        tmp_path, "own.py", text.replace("score=score", 'score=score, attributes=("gpu_model",)')
    )
    check_scheduler(import_source(str(file)).SCHEDULER)


def test_a_score_may_read_devices(tmp_path: Path) -> None:
    file = write(tmp_path, "own.py", READING_DEVICES)
    check_scheduler(import_source(str(file)).SCHEDULER)


def test_what_has_no_words(tmp_path: Path) -> None:
    text = 'from borgtrace import Scheduler\n\nSCHEDULER = Scheduler(name="My own", about="")\n'
    _, failures = failures_of(tmp_path, text)
    assert failures == (
        "its name is 'My own': write small letters and hyphens, such as peak-of-hour",
        "it has no attribute `about`: a few words on what it does, for lists",
    )


def test_what_is_no_scheduler() -> None:
    with pytest.raises(ContractError) as raised:
        check_scheduler(len)  # type: ignore[arg-type]
    assert raised.value.failures == ("it is not a value borgtrace.Scheduler(…)",)


def test_defaults_keep_the_contract() -> None:
    check_scheduler(Scheduler(name="tight", about="least is left"))


DECLARING = """from borgtrace import Scheduler


def score(task, machine):
    {body}


SCHEDULER = Scheduler(name="own", about="a scheduler of a test", score=score, {declared})
"""


@pytest.mark.parametrize(
    ("declared", "body", "sentence"),
    [
        (
            "",
            "return task.expected_life",
            "it asks for task.expected_life, which is there for a scheduler that says knows_lifetimes=True",
        ),
        (
            "",
            "return machine.attributes[0]",
            "it asks for machine.attributes, which is there for a scheduler that says attributes=(…)",
        ),
        (
            "knows_lifetimes=True",
            "return task.expected_life - 1",
            "for a task of which nothing is known, score returns NaN: return infinity for what should not be used",
        ),
        (
            "knows_lifetimes=True",
            "return max(0.0, task.expected_life) - machine.remaining_life",
            "for a task without an end on a machine without one, score returns NaN: return infinity for what "
            "should not be used",
        ),
        (
            'attributes=("rank",)',
            "return machine.attributes[0]",
            "on a machine without the attributes, score returns NaN: return infinity for what should not be used",
        ),
        (
            'attributes=("rank",)',
            "return machine.attributes[1]",
            "on a machine with a few tasks, it raises IndexError in {file}:5: tuple index out of range",
        ),
    ],
)
def test_fields_that_are_declared(tmp_path: Path, declared: str, body: str, sentence: str) -> None:
    file, failures = failures_of(tmp_path, DECLARING.format(declared=declared, body=body))
    assert sentence.format(file=file) in failures


def by_rank(task, machine):
    has_rank = machine.attributes[0] == 1.0
    return has_rank * 1.0 - machine.cpu_free


def by_life(task, machine):
    if task.expected_life > machine.remaining_life:
        return 1.0
    return 0.0


@pytest.mark.wide
def test_attributes_and_lifetimes_keep_the_contract_together() -> None:
    check_scheduler(
        Scheduler(
            name="own",
            about="of a test",
            score=by_life,
            accepts=lambda task, machine: not machine.attributes[0] > 1.5,
            attributes=("rank",),
            knows_lifetimes=True,
        )
    )
    check_scheduler(
        Scheduler(name="own", about="of a test", score=by_rank, attributes=("rank", "disk"))
    )


def kept_longest(task, machine):
    return -min(machine.remaining_life, 1000.0)


@pytest.mark.wide
def test_a_scheduler_that_looks_ahead_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # None can by itself: here what is learned is taken from the trace itself.
    monkeypatch.setattr("borgtrace.testing.scheduler_replays.LEARNED", ORACLE)
    with pytest.raises(ContractError) as raised:
        check_scheduler(
            Scheduler(name="own", about="of a test", score=kept_longest, knows_lifetimes=True)
        )
    assert raised.value.failures == (
        "what comes later in the trace changes where tasks went before: it may not look ahead",
    )
