"""Back-tests in time: forecasters are trained before a cut, and judged from there to the next one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import joblib

from borgtrace.errors import SourceError, UsageError, check_names
from borgtrace.forecast.forecasters import FORECASTERS, Forecaster, Recurrent
from borgtrace.forecast.series import COLUMNS, Examples, Series, examples
from borgtrace.question.store_question import Report, StoreQuestion
from borgtrace.storage import replacing
from borgtrace.store import Store

LEAST = 100
"""Fewer targets of a horizon are too few to learn from."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a back-test may be told.

    Attributes
    ----------
    forecasters
        Their names.
    resources
        ``cpu``, ``memory`` or both.
    tasks
        A random sample of so many.
    folds
        Cuts, which divide the second half of the trace.
    examples
        At most so many are learned from, and judged, at a cut.
    save
        File that keeps what was trained before the last cut; empty for none.
    model
        Such a file, which is judged instead of training anew.
    seed
        Of the samples and of training.
    """

    forecasters: Sequence[str] = tuple(name for name in FORECASTERS if name != Recurrent.name)
    resources: Sequence[str] = ("cpu",)
    tasks: int = 10_000
    folds: int = 3
    examples: int = 50_000
    save: str = ""
    model: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        check_names("--forecaster", self.forecasters, FORECASTERS, "no such forecaster")
        check_names("--resource", self.resources, COLUMNS)
        if self.save and len(self.resources) > 1:
            raise UsageError(
                "--save", "several resources", expected="one", got=", ".join(self.resources)
            )
        for name in ("tasks", "folds", "examples"):
            if getattr(self, name) < 1:
                raise UsageError(
                    f"--{name}", "too few", expected="1 or more", got=str(getattr(self, name))
                )


class Backtest(NamedTuple):
    """Forecasters that were trained before a cut, and what is judged after it."""

    later: Examples
    cut: int
    trained: Mapping[str, Forecaster]


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestQuestion(StoreQuestion):
    """A question that trains forecasters: ``compute(store, tables, options, report)``."""

    options: type[Any] = Setting
    reads: Sequence[str] = ("instance_usage",)
    unit: str = "rows"


def backtests(
    store: Store,
    resource: str,
    setting: Setting,
    report: Report,
) -> Iterator[Backtest]:
    """Yield the back-tests of a resource, cut by cut; see :class:`Setting`.

    Parameters
    ----------
    store
        An open store.
    resource
        ``"cpu"`` or ``"memory"``.
    setting
        The rest.
    report
        Called with the step, how much of it is done, and how much there is.
    """
    series = Series.of(store, resource, setting.tasks, setting.seed)
    cuts = [
        series.end * (setting.folds + fold) // (2 * setting.folds)
        for fold in range(setting.folds + 1)
    ]
    until, trained = load(setting.model, store, resource) if setting.model else (0, {})
    for cut, after in pairwise(cuts):
        begin = max(cut, until)
        later = examples(series, begin - 1, after, setting.examples, setting.seed)
        known = examples(
            series,
            0,
            cut,
            0 if setting.model else setting.examples,
            setting.seed,
        )
        if not setting.model and known.n_targets < LEAST:
            continue
        for done, name in enumerate(() if setting.model else setting.forecasters):
            step = f"{resource}: training {name}"
            total = len(known) * len(setting.forecasters)
            report(step, done * len(known), total)
            trained = {**trained, name: FORECASTERS[name]()}
            trained[name].train(known, setting.seed)
            report(step, (done + 1) * len(known), total)
        if setting.save:
            with replacing(Path(setting.save)) as draft:
                joblib.dump((store.digest, resource, cut, trained), draft)
        if len(later):
            yield Backtest(later, begin, trained)


def load(path: str, store: Store, resource: str) -> tuple[int, dict[str, Forecaster]]:
    """Return the slot from which on saved forecasters may be judged, and the forecasters by name.

    Parameters
    ----------
    path
        What ``borgtrace forecast --save`` wrote.
    store, resource
        What they will be judged on.

    Raises
    ------
    SourceError
        Where there is no such file, or it holds something else.
    UsageError
        Where they were trained on another resource.
    """
    way_out = "make one: borgtrace forecast STORE --save FILE"
    if not Path(path).is_file():
        raise SourceError(path, "no such file", way_out=way_out)
    try:
        digest, known, cut, trained = joblib.load(path)
    # Another file may make a pickle fail in any way.
    except Exception as error:
        raise SourceError(
            path, "not forecasters that were saved", got=type(error).__name__, way_out=way_out
        ) from error
    check_names("--resource", [resource], [known])
    # On another store nothing was seen: there all hours may be judged.
    return cut if digest == store.digest else 0, trained
