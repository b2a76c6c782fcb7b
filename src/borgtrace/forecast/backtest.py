"""Back-test forecasters in time: train them before a cut, and judge them from there to the next one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from borgtrace.errors import UsageError, check_names
from borgtrace.forecast.choice import (
    ForecasterChoice,
    check_choices,
    check_device_is_used,
    default_forecasters,
    forecaster_name,
    kind_of_choice,
    untrained_choice,
)
from borgtrace.forecast.registry import FORECASTER_KINDS, ForecasterKind
from borgtrace.forecast.saved import SavedForecasters, load, save
from borgtrace.forecast.series import COLUMNS, HORIZONS, PAST, Examples, UsageSeries, examples
from borgtrace.forecast.trained import TrainedForecaster, set_device, train
from borgtrace.learning.devices import check_device, device_of
from borgtrace.question.store_question import NamedCode, Report, StoreQuestion
from borgtrace.question.study_times import in_words, usage_span
from borgtrace.schema.bounds import FOLDS, SAMPLE_SIZE, SEED, check_fields
from borgtrace.schema.time import WINDOW
from borgtrace.store import Store

MIN_TARGETS = 100
"""Fewer targets of a horizon are too few to learn from."""


@dataclass(frozen=True, slots=True)
class ForecastOptions:
    """Options of a back-test.

    Attributes
    ----------
    forecasters
        Their names; classes or objects for those that you wrote.  By default those of
        :func:`~borgtrace.forecast.choice.default_forecasters`.
    resources
        ``cpu``, ``memory`` or both.
    tasks
        A random sample of so many.
    folds
        Cuts between training and judging, spread over the second half of the trace.
    examples
        At most so many are learned from, and judged, at a cut.
    save
        File that keeps what was trained before the last cut; empty for none.
    model
        Such a file, which is judged instead of training anew.
    seed
        Of the samples and of training.
    device
        Where forecasters in PyTorch compute: ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ``"mps"``, or ``"auto"``, the
        fastest that there is.  A device changes the last digits, so it is only used where it is named.
    """

    forecasters: Sequence[ForecasterChoice] = field(default_factory=default_forecasters)
    resources: Sequence[str] = ("cpu",)
    tasks: Annotated[int, SAMPLE_SIZE] = 10_000
    folds: Annotated[int, FOLDS] = 3
    examples: Annotated[int, SAMPLE_SIZE] = 50_000
    save: str = ""
    model: str = ""
    seed: Annotated[int, SEED] = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        check_choices(self.forecasters, self.save)
        check_names("--resource", self.resources, COLUMNS)
        if self.save and len(self.resources) > 1:
            raise UsageError(
                "--save",
                "several resources",
                expected="one",
                got=", ".join(self.resources),
            )
        check_device("--device", self.device)
        if not self.model:
            check_device_is_used(self.device, [kind_of_choice(each) for each in self.forecasters])
        check_fields(self)


class ForecastBacktest(NamedTuple):
    """Forecasters that were trained before a cut, and what is judged after it."""

    later: Examples
    cut: int
    trained: Mapping[str, TrainedForecaster]


def named_forecasters(options: ForecastOptions) -> dict[str, ForecasterKind]:
    """Return the forecasters of a back-test by name.

    Parameters
    ----------
    options
        Of the back-test.
    """
    named = {}
    for choice in options.forecasters:
        kind = FORECASTER_KINDS[choice] if isinstance(choice, str) else choice
        named[forecaster_name(choice)] = kind
    return named


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestQuestion(StoreQuestion):
    """A question that trains forecasters: ``compute(store, tables, options, report)``."""

    options: type[Any] = ForecastOptions
    code: NamedCode = field(default=named_forecasters, compare=False)
    reads: Sequence[str] = ("instance_usage",)
    unit: str = "rows"

    def recorded_parameters(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters with forecasters by name, also those of a user."""
        names = tuple(forecaster_name(choice) for choice in parameters["forecasters"])
        return {**parameters, "forecasters": names}


def backtests(
    store: Store,
    resource: str,
    options: ForecastOptions,
    report: Report,
) -> Iterator[ForecastBacktest]:
    """Yield the back-tests of a resource, cut by cut.

    Parameters
    ----------
    store
        An open store.
    resource
        ``"cpu"`` or ``"memory"``.
    options
        The rest.
    report
        Called with the step, how much of it is done, and how much there is.
    """
    series = UsageSeries.of(store, resource, options.tasks, options.seed)
    yield from backtests_of(series, store.digest, resource, options, report)


def backtests_of(
    series: UsageSeries,
    store_digest: str,
    resource: str,
    options: ForecastOptions,
    report: Report,
) -> Iterator[ForecastBacktest]:
    """Yield the back-tests of a series; see :func:`backtests`."""
    if options.device != "cpu":
        # A device that is not there is refused before other forecasters are trained for minutes.
        device_of(options.device)
    saved = SavedForecasters(0, {})
    if options.model:
        saved = load(options.model, store_digest, resource)
        check_device_is_used(
            options.device, [each.forecaster for each in saved.forecasters.values()]
        )
    trained = saved.forecasters
    for each in trained.values():
        set_device(each.forecaster, options.device)
    for cut, next_cut in pairwise(cuts_of(series, options.folds)):
        if not options.model:
            known = examples(series, 0, cut, options.examples, options.seed)
            if known.n_targets < MIN_TARGETS:
                continue
            trained = train_all(known, resource, options, report)
        if options.save:
            save(Path(options.save), store_digest, resource, cut, trained)
        begin = max(cut, saved.begin)
        later = examples(series, begin - 1, next_cut, options.examples, options.seed)
        if len(later):
            yield ForecastBacktest(later, begin, trained)


def cuts_of(series: UsageSeries, folds: int) -> list[int]:
    """Return the slots at which the second half of a series is cut, its end included; none where it is too short.

    Before the first cut there must be an example to learn from, and after each one to judge: in a short trace the first
    cut comes later than the middle, and there are fewer.

    Parameters
    ----------
    series
        The tasks.
    folds
        How many stretches are judged at most.
    """
    begin = int(series.slot.min(initial=series.end))
    first_cut = max((begin + series.end) // 2, begin + PAST + HORIZONS)
    n_judged = series.end - first_cut
    n_folds = min(folds, n_judged // HORIZONS)
    if n_folds < 1:
        return []
    return [first_cut + n_judged * fold // n_folds for fold in range(n_folds + 1)]


def too_short_to_learn(store: Store) -> str:
    """Return why a store has nothing to learn from or to judge, and what would do.

    Parameters
    ----------
    store
        An open store.
    """
    span = usage_span(store.manifest)
    least = (PAST + 2 * HORIZONS) * WINDOW
    if span < least:
        return (
            f"usage spans {in_words(span)}: a forecast sees an hour and is judged by the next one, so that learning "
            f"from the first and judging a later one takes {in_words(least)} at least"
        )
    return (
        f"fewer than {MIN_TARGETS} hours of tasks, each followed by another hour, lie before a cut to learn from: "
        "more tasks, or a longer trace, are needed"
    )


def train_all(
    known: Examples,
    resource: str,
    options: ForecastOptions,
    report: Report,
) -> dict[str, TrainedForecaster]:
    """Train all forecasters on the same examples."""
    trained: dict[str, TrainedForecaster] = {}
    total = len(known) * len(options.forecasters)
    for n_done, choice in enumerate(options.forecasters):
        name = forecaster_name(choice)
        step = f"{resource}: training {name}"
        report(step, n_done * len(known), total)
        trained[name] = train(untrained_choice(choice), known, options.seed, options.device)
        report(step, (n_done + 1) * len(known), total)
    return trained
