"""Odd values of every option of every command, and of every parameter; both are found, not listed.

A command is called with the least that it needs, and one odd value. What each place of its arguments needs is in
`Places`; the next option costs no line here, the next command one where a place has a new name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from borgtrace.catalog import experiments, questions
from borgtrace.cli.app import COMMANDS, load_command
from borgtrace.overcommit.policies.registry import policies
from borgtrace.overcommit.recommenders.registry import recommenders
from borgtrace.placement import estimators
from borgtrace.scheduling.plan import RECLAIMED, RESERVATION, SIZES

WRONG_NUMBERS = {
    "empty": "",
    "huge": "1" + 30 * "0",
    "nan": "nan",
    "inf": "inf",
    "text": "wrong",
    "two numbers": "1 0",
}
"""What no number may be, whatever its bounds."""
NUMBERS = {"zero": "0", "minus one": "-1", "2^63": str(2**63)}
AMOUNTS = {"no unit": "5", "no time": "0s", "a microsecond": "1us", "unit alone": "GB"}
VALUES = {**NUMBERS, **WRONG_NUMBERS, **AMOUNTS}

ALWAYS_WRONG = {*WRONG_NUMBERS, "minus one", "2^63", "unit alone"}
"""What no parameter may be, whether it is a number or a time."""
EXIT_CODES = (0, 2, 3, 4, 5, 6, 7)
"""Of DESIGN: 2 usage, 3 source, 4 schema, 5 store, 6 quality, 7 engine."""
MUST_BE_REFUSED = {
    "SIZE": {*WRONG_NUMBERS, *NUMBERS, *AMOUNTS},
    "TIME": {*WRONG_NUMBERS, "minus one", "2^63", "unit alone"},
    "A..B": {*VALUES},
    "N,N-M": {*WRONG_NUMBERS, "minus one", "2^63", *AMOUNTS} - {"no unit"},
    "NAME=VALUE": {*VALUES} - {"empty"},
    "N:CPU:MEMORY": {*VALUES},
    "OLD=NEW": {*VALUES},
}
"""Values of options that are read from text, by their metavar."""


@dataclass(frozen=True)
class Case:
    """A command line with one odd value.

    Attributes
    ----------
    words
        The command line.
    option
        What has the value: an option, or the metavar of an argument.
    value
        The value.
    is_wrong
        Whether it can only be refused.
    """

    words: tuple[str, ...]
    option: str
    value: str
    is_wrong: bool

    @property
    def id(self) -> str:
        return f"{self.words[0]} {self.option}={self.value[:12] or 'empty'}"


@dataclass(frozen=True)
class Outcome:
    """How a command ended; the code is None where it was still at work when its time was over."""

    code: int | None
    text: str


class Places:
    """What stands where a command needs something.

    Parameters
    ----------
    store
        A tiny store of 2011.
    raw
        Its raw files.
    moments
        A file of moments of tasks.
    """

    def __init__(self, store: Path, raw: Path, moments: Path) -> None:
        self.moments = moments
        self.arguments: dict[str, list[str]] = {
            "STORE": [str(store)],
            "[STORE]": [],
            "STORE…": [str(store), str(store)],
            "SRC…": [str(raw)],
            "DEST": ["fetched"],
            "FILE|MODULE": ["own.py"],
            "2011|2019": ["2011"],
            "URL": ["http://127.0.0.1:9"],
            "OUT": ["made"],
            "OUT.html": ["page.html"],
            "STORE | FILES… | URL": [str(store)],
            "JOB": ["10"],
            "MACHINE": ["5"],
            "PAPER": ["zhu2015"],
            "FILE.toml": [str(written_experiment(moments.parent, store))],
            "[PAPER]": ["zhu2015"],
            "sniff|list": ["list"],
        }
        self.options: dict[str, list[str]] = {
            "--store": ["new"],
            "--dataset": ["project.dataset"],
            "--at": ["0"],
            "--out": ["made.parquet"],
        }
        self.cheap: dict[str, list[str]] = {
            "analyze": ["--where", "true"],
            "colocate": ["--synthetic", "30", "--experiment", "colocation_preparation"],
            "export": ["--workers", "1"],
            "ingest": ["--jobs", "1"],
            "explore": ["--no-browser"],
            "mcp": ["--config"],
            "fetch": ["--base-url", "http://127.0.0.1:9/", "--dry-run"],
            "forecast": ["--forecaster", "persistence"],
            "overcommit": ["--policy", "limit"],
            "overcommit target": ["--policy", "limit"],
            "overcommit explain": ["--policy", "limit"],
            "overcommit recommend": ["--cores-per-unit", "64", "--gib-per-unit", "256"],
            "colocate place": ["--synthetic", "30"],
            "colocate pool": ["--synthetic", "30"],
            "reproduce": ["--only", "method-3"],
            "simulate": ["--policy", "recorded"],
            "simulate gpus": ["--policy", "best-fit", "--runs", "1"],
            "compact": ["--what-if", "limits", "--seeds", "1"],
            "subset": ["--time", "0s..9d"],
            "synth": ["--machines", "1", "--hours", "0.1"],
        }
        """What keeps a command short."""
        self.last: dict[str, list[str]] = {
            "analyze": ["data_quality"],
            "report": ["data_quality"],
            "sql": ["select 1"],
        }
        """Optional arguments that do so."""
        self.needed: dict[tuple[str, str], list[str]] = {
            ("export", "--capacity"): ["--layout", "swf"],
        }
        """Options that another one is for."""
        sources = ("[STORE]", "--pool", "--usage", "--moments")
        self.instead = {
            (command, source): "--synthetic"
            for command in ("colocate", "colocate place", "colocate pool")
            for source in sources
        }
        """Options that stand in the place of another one."""


def written_experiment(folder: Path, store: Path) -> Path:
    """Write an experiment of one policy on a store, and return its file."""
    file = folder / "experiment.toml"
    file.write_text(f'policies = ["limit"]\nstores = {{ tiny = "{store.absolute()}" }}\n')
    return file


def command_cases(places: Places) -> Iterator[Case]:
    """Yield every option and argument of every command with every odd value."""
    for name in COMMANDS:
        command = load_command(name)
        for parameter in command.params:
            if getattr(parameter, "is_flag", False) or parameter.name == "help":
                continue
            for kind, value in VALUES.items():
                yield case_of(places, name, command, parameter, kind, value)


def case_of(places: Places, name: str, command: Any, parameter: Any, kind: str, value: str) -> Case:
    """Return one command line."""
    is_argument = parameter.param_type_name == "argument"
    shown = metavar_of(parameter) if is_argument else parameter.opts[-1]
    options = []
    if not is_argument:
        options += [shown, value]
        options += places.needed.get((name, shown), [])
    options += required_options(places, command, shown)
    cheap = without(places.cheap.get(name, []), shown)
    options += without(cheap, places.instead.get((name, shown), ""))
    arguments: list[str] = []
    for other in command.params:
        if other.param_type_name == "argument":
            if other is parameter:
                arguments.append(value)
            else:
                arguments += arguments_of(places, name, other)
    # Behind "--", where a number below 0 is no option.
    words = (*name.split(), *options, "--", *arguments)
    return Case(words, shown, value, is_wrong(parameter, shown, kind))


def metavar_of(parameter: Any) -> str:
    """Return how a message calls an argument."""
    return parameter.metavar or parameter.name.upper()


def required_options(places: Places, command: Any, shown: str) -> list[str]:
    """Return the options that a command cannot do without."""
    words = []
    for parameter in command.params:
        option = parameter.opts[-1]
        if parameter.param_type_name == "option" and parameter.required and option != shown:
            words += [option, *places.options[option]]
    return words


def without(words: Sequence[str], option: str) -> list[str]:
    """Return options and their values without one of them."""
    remaining = []
    position = 0
    while position < len(words):
        has_value = position + 1 < len(words) and not words[position + 1].startswith("--")
        size = 2 if has_value else 1
        if words[position] != option:
            remaining += words[position : position + size]
        position += size
    return remaining


def arguments_of(places: Places, name: str, parameter: Any) -> list[str]:
    """Return what stands in the place of an argument that is not the odd one."""
    metavar = metavar_of(parameter)
    if parameter.required or metavar in places.arguments:
        return places.arguments[metavar]
    is_last = parameter.nargs == -1 or metavar == "[QUERY]"
    return places.last.get(name, []) if is_last else []


def is_wrong(parameter: Any, shown: str, kind: str) -> bool:
    """Return whether a value can only be refused."""
    if kind == "empty":
        return True
    if reads_number(parameter):
        wrong = {*WRONG_NUMBERS, "2^63", "no time", "a microsecond", "unit alone"}
        # Of the ids the largest is 2^63 − 1; ports, seeds and sizes are smaller.
        return kind in wrong
    return kind in MUST_BE_REFUSED.get(parameter.metavar, ())


def reads_number(parameter: Any) -> bool:
    """Return whether Typer reads a whole or another number."""
    # The attribute has another name from Typer 0.29 on.
    kind = getattr(parameter, "type", None) or parameter.type_descriptor.annotation
    return re.search(r"\b(int|float)\b", str(kind), re.IGNORECASE) is not None


def parameter_cases(places: Places) -> Iterator[Case]:
    """Yield every parameter of every question, policy, recommender and estimator with every odd value."""
    store = places.arguments["STORE"][0]
    known_experiments = experiments()
    for name, question in questions().items():
        if name in known_experiments:
            continue
        for parameter, default in question.parameters.items():
            for kind, value in VALUES.items():
                words = ("analyze", "--set", f"{parameter}={value}", store, name)
                is_text = isinstance(default, str)
                wrong = {*VALUES} if is_text else ALWAYS_WRONG
                yield Case(words, f"--set {parameter}", value, kind in wrong)
    yield from rule_cases(("overcommit", "--policy"), policies(), (), store)
    of_cpu = ("--resource", "cpu", "--cores-per-unit", "64")
    yield from rule_cases(
        ("overcommit", "recommend", "--recommender"), recommenders(), of_cpu, store
    )
    yield from plan_cases(store)
    for name in estimators():
        for kind, value in VALUES.items():
            moments = str(places.moments)
            words = ("colocate", "place", "--moments", moments, "--estimator", f"{name}:{value}")
            wrong = {*WRONG_NUMBERS, "zero", "minus one", "no time", "a microsecond", "unit alone"}
            yield Case(words, name, value, kind in wrong - {"huge"})


def plan_cases(store: str) -> Iterator[Case]:
    """Yield the parameters of plans and of schedulers."""
    for name in (*SIZES, "gpa", RESERVATION, RECLAIMED):
        for kind, value in VALUES.items():
            words = ("simulate", "--plan", f"{name}:{value}", store)
            yield Case(words, "--plan", value, kind in ALWAYS_WRONG)
    for kind, value in VALUES.items():
        words = ("simulate", "--policy", f"random:k={value}", store)
        yield Case(words, "--policy", value, kind not in ("no unit",))


def rule_cases(
    begin: Sequence[str], kinds: Mapping[str, Any], extra: Sequence[str], store: str
) -> Iterator[Case]:
    """Yield the parameters of policies or recommenders; `begin` is a command and the option that names them."""
    option = begin[-1]
    for name, rule in kinds.items():
        for parameter in fields(rule):
            is_text = isinstance(parameter.default, str)
            for kind, value in VALUES.items():
                words = (*begin, f"{name}:{parameter.name}={value}", *extra, store)
                wrong = ALWAYS_WRONG
                if parameter.name == "most":
                    wrong = wrong - {"inf", "huge", "2^63"}
                yield Case(words, option, value, is_text or kind in wrong)


def faults_of(case: Case, outcome: Outcome) -> Iterator[str]:
    """Yield what is wrong with how a command ended."""
    text = re.sub(r"\x1b\[[0-9;]*m|[│╭╮╰╯─]", "", outcome.text)
    text = " ".join(text.split())
    if "Traceback" in text:
        yield "a traceback"
    if outcome.code is not None and outcome.code not in EXIT_CODES:
        yield f"exit code {outcome.code}"
    if case.is_wrong and outcome.code != 2:
        yield f"exit code {outcome.code} where only 2 is right"
    # A value that can be right may be refused for what is beside it; the message is then about that.
    if outcome.code == 2 and case.is_wrong:
        yield from faults_of_message(case, text)
    if outcome.code not in (None, 0) and not re.search(r"borgtrace: \S|Error: \S", text):
        yield "no message"


def faults_of_message(case: Case, text: str) -> Iterator[str]:
    """Yield what a refusal does not say: the option, what is allowed, and what was got."""
    own_name = case.option.strip("[]….").partition("…")[0].lower()
    # An empty argument has no name for Click, and the place of a store or file is the path itself.
    names = [own_name, "an argument", case.value.lower() or "an argument", *related(case)]
    if not any(name in text.lower() for name in names):
        yield "the message does not name the option"
    if case.value and case.value.lower() not in text.lower() and not shown_otherwise(case, text):
        yield "the message does not show the value"
    if not re.search(r"expected|not a valid|is not one of|; |got", text):
        yield "the message does not say what is allowed"


def related(case: Case) -> list[str]:
    """Return other options that a message may name: two that do not go together."""
    return ["--by", "--compat"] if case.option in ("--compat",) else []


def shown_otherwise(case: Case, text: str) -> bool:
    """Return whether a number is shown in another form: with separators, as a time, or as NumPy writes it."""
    shown = {
        "0": ("0us", "0"),
        "1us": ("1us", "0us"),
        "0s": ("0us",),
        "5": ("5us", "5s"),
        str(2**63): ("9,223,372,036,854,775,808", "9.22337e+18", "1e+18"),
        "1" + 30 * "0": ("1,000,000,000", "1e+30"),
    }
    # A huge time is one of many days.
    is_time = re.search(r"got \d{6,}d", text) is not None
    return is_time or any(form in text for form in shown.get(case.value, ()))
