"""The options of a board, and the forecasters that they name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from borgtrace.errors import check_names
from borgtrace.extensions import YOUR_OWN
from borgtrace.forecast.board.baselines import BASELINES
from borgtrace.forecast.board.boards import BOARDS, FAST_STORAGE
from borgtrace.forecast.board.by_examples import ByExamples
from borgtrace.forecast.choice import (
    ForecasterChoice,
    check_choices,
    check_device_is_used,
    forecaster_name,
)
from borgtrace.forecast.panel_forecaster import PanelForecaster
from borgtrace.forecast.registry import FORECASTER_KINDS, ForecasterKind, untrained
from borgtrace.forecast.trained import set_device
from borgtrace.learning.devices import check_device
from borgtrace.schema.bounds import SAMPLE_SIZE, SEED, check_fields


@dataclass(frozen=True, slots=True)
class BoardOptions:
    """Options of a board.

    Attributes
    ----------
    board
        One of `BOARDS`.
    forecasters
        Names; classes or objects for those that you wrote.  The two baselines by default.
    examples
        At most so many are learned from by a forecaster that sees no whole panel.
    seed
        Of whatever is random.
    device
        Where forecasters in PyTorch compute.
    """

    board: str = FAST_STORAGE.name
    forecasters: Sequence[ForecasterChoice] = tuple(BASELINES)
    examples: Annotated[int, SAMPLE_SIZE] = 50_000
    seed: Annotated[int, SEED] = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        check_names("--board", [self.board], BOARDS, "no such board")
        names = [choice for choice in self.forecasters if isinstance(choice, str)]
        kinds = {**BASELINES, **_kinds(names)}
        check_names("--forecaster", names, kinds, "no such forecaster", YOUR_OWN)
        check_choices([choice for choice in self.forecasters if choice not in BASELINES], "")
        check_device("--device", self.device)
        check_device_is_used(self.device, [board_kind(choice) for choice in self.forecasters])
        check_fields(self)


def _kinds(names: Sequence[str]) -> Mapping[str, Any]:
    """Return all forecasters by name; of those of packages only what is named is imported."""
    return {name: FORECASTER_KINDS[name] if name in names else None for name in FORECASTER_KINDS}


def board_kind(choice: ForecasterChoice) -> ForecasterKind:
    """Return the class or the object that a choice stands for on a board."""
    if not isinstance(choice, str):
        return choice
    return BASELINES[choice] if choice in BASELINES else FORECASTER_KINDS[choice]


def named_on_board(options: BoardOptions) -> dict[str, ForecasterKind]:
    """Return the forecasters of a board by name."""
    return {forecaster_name(choice): board_kind(choice) for choice in options.forecasters}


def forecaster_on_board(kind: ForecasterKind, options: BoardOptions) -> PanelForecaster:
    """Return a new forecaster that has learned nothing and takes panels, whichever kind it is of."""
    forecaster = untrained(kind)
    if not isinstance(forecaster, PanelForecaster):
        return ByExamples(forecaster, options.examples, options.seed, options.device)
    object.__setattr__(forecaster, "seed", options.seed)
    set_device(forecaster, options.device)
    return forecaster
