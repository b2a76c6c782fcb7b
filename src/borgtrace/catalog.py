"""Which questions there are: the folders are headings of the report, and a question is imported when it is asked."""

import importlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from borgtrace.errors import UsageError, did_you_mean
from borgtrace.extensions import YOUR_OWN, Registry
from borgtrace.question import Question


@cache
def folders_of_analyses() -> tuple[ModuleType, ...]:
    """Return the folders of questions about a store's tables, in the order of the report."""
    from borgtrace.analyses import (
        changes,
        constraints,
        dependencies,
        fidelity,
        interference,
        jobs,
        machines,
        power,
        quality,
        queue,
        reservations,
        submissions,
        usage,
        waits,
    )

    return (
        quality,
        machines,
        submissions,
        queue,
        waits,
        jobs,
        usage,
        changes,
        reservations,
        constraints,
        interference,
        dependencies,
        power,
        fidelity,
    )


@cache
def folders_of_experiments() -> tuple[ModuleType, ...]:
    """Return the folders of the colocation study, in the order of the report; this imports what packs tasks."""
    from borgtrace.colocation.experiments import beyond, packing, sums, usage

    return usage, sums, packing, beyond


def folders() -> tuple[ModuleType, ...]:
    """Return the folders of questions in the order of the report, each with ``HEADING`` and ``QUESTIONS``."""
    # How close a synthetic trace is to the published figures stands last.
    *analyses, fidelity = folders_of_analyses()
    return (*analyses, *folders_of_experiments(), fidelity)


def listed_names() -> Iterator[tuple[str, ModuleType]]:
    """Yield the name of each question of ours with its folder, in the order of the report."""
    for folder in folders():
        for name in folder.QUESTIONS:
            yield name, folder


class OwnQuestions(Mapping[str, Question]):
    """Ours by name, in the order of the report; a question is imported when it is asked for."""

    def __getitem__(self, name: str) -> Question:
        """Return a question, importing its module alone.

        Raises
        ------
        KeyError
            There is none of this name.
        """
        folder = _folder_of(name)
        if folder is None:
            raise KeyError(name)
        return _import_question(folder, name)

    def __contains__(self, name: object) -> bool:
        """Whether there is a question of this name; none is imported."""
        return isinstance(name, str) and _folder_of(name) is not None

    def __iter__(self) -> Iterator[str]:
        for name, _ in listed_names():
            yield name

    def __len__(self) -> int:
        return sum(1 for _ in listed_names())


def is_question(value: Any) -> bool:
    """Whether an object is a question."""
    return isinstance(value, Question)


QUESTION_KINDS = Registry[Question](
    "question",
    "borgtrace.questions",
    OwnQuestions(),
    is_question,
    "QUESTION = borgtrace.Question(…)",
)
"""Questions by name, those of others included."""

OTHER_QUESTIONS = "Other questions"
"""Heading of questions that are not ours."""


def names() -> tuple[str, ...]:
    """Return the names of all questions in the order of the report, importing none; those of the user's files last."""
    return QUESTION_KINDS.named


@cache
def headings() -> Mapping[str, str]:
    """Return the heading of each question of ours by its name; others stand under `OTHER_QUESTIONS`."""
    return {name: folder.HEADING for name, folder in listed_names()}


def find(name: str) -> Question:
    """Return one question, importing its module alone.

    Parameters
    ----------
    name
        Name of the question.

    Raises
    ------
    UsageError
        For an unknown name; the message has the names most like it.

    Examples
    --------
    >>> find("queue_length").title
    'Does the queue grow, and does the number of running tasks surge?'
    """
    if name in QUESTION_KINDS:
        return QUESTION_KINDS[name]
    unlisted = _folder_with_unlisted_module(name)
    if unlisted is not None:
        raise UsageError(
            "NAME",
            "the question is not listed",
            got=name,
            way_out=f"add it to QUESTIONS in {unlisted.__file__}",
        )
    # Seventy names are no help in a message.
    similar = did_you_mean(name, QUESTION_KINDS)
    every_name = "every name: borgtrace analyze --list"
    hint = f"{similar} {every_name}" if similar else every_name
    hint = f"{hint}; {YOUR_OWN}"
    raise UsageError("NAME", "no such question", got=name, way_out=hint)


@cache
def _import_question(folder: ModuleType, name: str) -> Question:
    question = importlib.import_module(f"{folder.__name__}.{name}").QUESTION
    assert isinstance(question, Question)
    return question


def _folder_of(name: str) -> ModuleType | None:
    for folder in folders_of_analyses():
        if name in folder.QUESTIONS:
            return folder
    # Looked up last: their package takes half a second to import.
    for folder in folders_of_experiments():
        if name in folder.QUESTIONS:
            return folder
    return None


def _folder_with_unlisted_module(name: str) -> ModuleType | None:
    """Return the folder that holds a module of this name with a question, which its author forgot to list."""
    if not name.isidentifier():
        return None
    for folder in folders():
        module_name = f"{folder.__name__}.{name}"
        if find_spec(module_name) is None:
            continue
        if hasattr(importlib.import_module(module_name), "QUESTION"):
            return folder
    return None


def questions() -> Mapping[str, Question]:
    """Return all questions by name, in the order of the report; this imports every module, about a second."""
    return {name: find(name) for name in names()}


def experiments() -> dict[str, Question]:
    """Return the questions of the colocation study by name, in the order of the report."""
    return {name: find(name) for folder in folders_of_experiments() for name in folder.QUESTIONS}
