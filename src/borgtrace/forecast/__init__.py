"""Forecast what tasks will use next: forecasters, trained on earlier hours and judged on later ones."""

from borgtrace.forecast.backtest import ForecastOptions
from borgtrace.forecast.board import BOARD, BoardOptions
from borgtrace.forecast.forecaster import Forecaster
from borgtrace.forecast.forecasters import FORECASTERS
from borgtrace.forecast.packing import PACKED
from borgtrace.forecast.panel import Panel
from borgtrace.forecast.panel_forecaster import PanelForecaster
from borgtrace.forecast.registry import FORECASTER_KINDS
from borgtrace.forecast.series import Examples, Past, UsageSeries, examples
from borgtrace.forecast.study import FORECAST
from borgtrace.forecast.walk import walks

__all__ = [
    "BOARD",
    "FORECAST",
    "FORECASTERS",
    "FORECASTER_KINDS",
    "PACKED",
    "BoardOptions",
    "Examples",
    "ForecastOptions",
    "Forecaster",
    "Panel",
    "PanelForecaster",
    "Past",
    "UsageSeries",
    "examples",
    "walks",
]
