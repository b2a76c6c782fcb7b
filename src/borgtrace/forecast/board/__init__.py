"""Public boards of forecasts: their protocol to the letter, for any forecaster, with the published rows beside."""

from borgtrace.forecast.board.answer import BOARD
from borgtrace.forecast.board.baselines import BASELINES
from borgtrace.forecast.board.boards import BOARDS
from borgtrace.forecast.board.options import BoardOptions

__all__ = ["BASELINES", "BOARD", "BOARDS", "BoardOptions"]
