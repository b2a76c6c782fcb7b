"""Forecast what tasks will use next: forecasters, trained on earlier hours and judged on later ones."""

from borgtrace.forecast.backtest import ForecastOptions
from borgtrace.forecast.forecaster import Forecaster
from borgtrace.forecast.forecasters import FORECASTERS
from borgtrace.forecast.packing import PACKED
from borgtrace.forecast.registry import FORECASTER_KINDS
from borgtrace.forecast.series import Examples, Past, UsageSeries, examples
from borgtrace.forecast.study import FORECAST
from borgtrace.forecast.walk import walks

__all__ = [
    "FORECAST",
    "FORECASTERS",
    "FORECASTER_KINDS",
    "PACKED",
    "Examples",
    "ForecastOptions",
    "Forecaster",
    "Past",
    "UsageSeries",
    "examples",
    "walks",
]
