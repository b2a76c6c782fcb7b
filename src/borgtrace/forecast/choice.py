"""Which forecasters to judge: by name, or classes and objects of a user."""

from __future__ import annotations

from collections.abc import Sequence

from borgtrace.errors import UsageError, check_names
from borgtrace.extensions import YOUR_OWN, kind_of
from borgtrace.forecast.forecaster import Forecaster
from borgtrace.forecast.forecasters import FORECASTERS, Boosting, Recurrent
from borgtrace.forecast.registry import (
    FORECASTER_KINDS,
    OURS,
    SAVABLE,
    ForecasterKind,
    check_needs_no_arguments,
    is_forecaster,
    untrained,
)
from borgtrace.kernels.scikit_learn import has_scikit_learn

ForecasterChoice = str | ForecasterKind
"""A name of `FORECASTER_KINDS`, or a class or an object of one's own."""


def default_forecasters() -> tuple[str, ...]:
    """Return the names of those that are judged where none is named: all that train in seconds, and can.

    Boosting is one of them where scikit-learn is installed.
    """
    left_out = {Recurrent.name}
    if not has_scikit_learn():
        left_out.add(Boosting.name)
    return tuple(name for name in FORECASTERS if name not in left_out)


def kind_of_choice(choice: ForecasterChoice) -> ForecasterKind:
    """Return the class or the object that a choice stands for."""
    return FORECASTER_KINDS[choice] if isinstance(choice, str) else choice


def untrained_choice(choice: ForecasterChoice) -> Forecaster:
    """Return a new forecaster of a choice, which has learned nothing."""
    return untrained(kind_of_choice(choice))


def forecaster_name(choice: ForecasterChoice) -> str:
    """Return the name that a choice bears in answers."""
    return choice if isinstance(choice, str) else choice.name


def check_choices(choices: Sequence[ForecasterChoice], save: str) -> None:
    """Refuse what is no forecaster, a name that two have, and to save what a file cannot hold.

    Parameters
    ----------
    choices
        Names, classes and objects.
    save
        The file that keeps what is trained; empty for none.

    Raises
    ------
    UsageError
        For the first of these mistakes.
    """
    names = [choice for choice in choices if isinstance(choice, str)]
    check_names("--forecaster", names, FORECASTER_KINDS, "no such forecaster", YOUR_OWN)
    taken = {*OURS, *names}
    for choice in choices:
        if isinstance(choice, str):
            continue
        check_is_forecaster(choice)
        name = getattr(choice, "name", None)
        if not isinstance(name, str) or not name or name in taken:
            raise UsageError(
                "forecasters",
                f"name of {kind_of(choice)}",
                expected=f"a text other than {', '.join(sorted(taken))}",
                got=str(name or "none"),
            )
        if isinstance(choice, type):
            check_needs_no_arguments(choice)
        taken.add(name)
    if save:
        _check_savable(choices)


def check_is_forecaster(choice: object) -> None:
    """Refuse what is not a forecaster.

    Parameters
    ----------
    choice
        What a user passed beside names.

    Raises
    ------
    UsageError
        It is another object or class, or a class without the method `predict`.
    """
    if not is_forecaster(choice):
        raise UsageError(
            "forecasters",
            "not a forecaster",
            expected=f"names, or {FORECASTER_KINDS.wanted}, or an object of one",
            got=kind_of(choice),
            way_out="borgtrace.forecast.adapters makes one of a function or a model",
        )
    missing = sorted(getattr(choice, "__abstractmethods__", ()))
    if missing:
        raise UsageError(
            "forecasters",
            f"{kind_of(choice)} is not complete",
            expected="a method " + " and ".join(missing),
        )


def _check_savable(choices: Sequence[ForecasterChoice]) -> None:
    """Refuse to save forecasters of others: to read one back would take their code."""
    for choice in choices:
        name = forecaster_name(choice)
        if name not in SAVABLE:
            raise UsageError(
                "--save",
                "a file of forecasters holds numbers, and no code",
                expected=f"some of {', '.join(SAVABLE)}",
                got=name,
                way_out=f"leave out --save, or --forecaster {name}",
            )


def check_device_is_used(device: str, forecasters: Sequence[ForecasterKind]) -> None:
    """Refuse a device where no forecaster computes on one.

    Parameters
    ----------
    device
        As of ``--device``; ``cpu`` is where all compute.
    forecasters
        Classes or objects.

    Raises
    ------
    UsageError
        None of them needs PyTorch.
    """
    if device == "cpu" or any(each.needs == Recurrent.needs for each in forecasters):
        return
    ours = ", ".join(name for name, kind in OURS.items() if kind.needs == Recurrent.needs)
    raise UsageError(
        "--device",
        "no forecaster here computes in PyTorch",
        expected=f'{ours}, or one of yours with needs = "torch"',
        got=" and ".join(each.name for each in forecasters),
        way_out="leave out --device, or name such a forecaster",
    )
