"""Which forecasters to judge: ours by name, and classes that a user wrote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from borgtrace.errors import UsageError, check_names
from borgtrace.forecast.forecasters import FORECASTERS, Boosting, Forecaster, Recurrent
from borgtrace.kernels.scikit_learn import has_scikit_learn

ForecasterChoice = str | type[Forecaster]
"""A name of `FORECASTERS`, or a class of one's own."""


def default_forecasters() -> tuple[str, ...]:
    """Return the names of those that are judged where none is named: all that train in seconds, and can.

    Boosting is one of them where scikit-learn is installed.
    """
    left_out = {Recurrent.name}
    if not has_scikit_learn():
        left_out.add(Boosting.name)
    return tuple(name for name in FORECASTERS if name not in left_out)


def forecaster_class(choice: ForecasterChoice) -> type[Forecaster]:
    """Return the class that a choice stands for."""
    return FORECASTERS[choice] if isinstance(choice, str) else choice


def forecaster_name(choice: ForecasterChoice) -> str:
    """Return the name that a choice bears in answers."""
    return choice if isinstance(choice, str) else choice.name


def own_classes(choices: Sequence[ForecasterChoice]) -> Iterator[type[Forecaster]]:
    """Yield the choices that are classes of a user."""
    for choice in choices:
        if not isinstance(choice, str):
            yield choice


def check_choices(choices: Sequence[ForecasterChoice], save: str) -> None:
    """Refuse what is no forecaster, a name that two have, and to save what a file cannot hold.

    Parameters
    ----------
    choices
        Names and classes.
    save
        The file that keeps what is trained; empty for none.

    Raises
    ------
    UsageError
        For the first of these mistakes.
    """
    names = [choice for choice in choices if isinstance(choice, str)]
    check_names("--forecaster", names, FORECASTERS, "no such forecaster")
    taken = set(FORECASTERS)
    for choice in own_classes(choices):
        check_is_forecaster(choice)
        name = getattr(choice, "name", None)
        if not isinstance(name, str) or name in taken:
            raise UsageError(
                "forecasters",
                f"name of the class {choice.__name__}",
                expected=f"a text other than {', '.join(sorted(taken))}",
                got=str(name or "none"),
            )
        if save:
            raise UsageError(
                "--save",
                "a file of forecasters holds numbers, and no code",
                expected=f"some of {', '.join(FORECASTERS)}",
                got=name,
            )
        taken.add(name)


def check_is_forecaster(choice: object) -> None:
    """Refuse what is not a class derived from `Forecaster`.

    Parameters
    ----------
    choice
        What a user passed beside names.

    Raises
    ------
    UsageError
        It says whether an object stands in the place of its class.
    """
    if isinstance(choice, type) and issubclass(choice, Forecaster):
        return
    is_class = isinstance(choice, type)
    kind = choice.__name__ if isinstance(choice, type) else type(choice).__name__
    raise UsageError(
        "forecasters",
        "not a forecaster",
        expected="names, and classes derived from borgtrace.forecast.Forecaster",
        got=f"the class {kind}" if is_class else f"an object of the class {kind}",
        way_out="name its class" if isinstance(choice, Forecaster) else None,
    )
