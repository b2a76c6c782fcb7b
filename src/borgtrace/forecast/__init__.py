"""Forecast what tasks will use next: forecasters, trained on earlier hours and judged on later ones."""

from borgtrace.forecast.backtest import ForecastOptions
from borgtrace.forecast.forecasters import FORECASTERS, Forecaster
from borgtrace.forecast.packing import PACKED
from borgtrace.forecast.series import Examples, UsageSeries, examples
from borgtrace.forecast.study import FORECAST
from borgtrace.forecast.walk import walks

__all__ = [
    "FORECAST",
    "FORECASTERS",
    "PACKED",
    "Examples",
    "ForecastOptions",
    "Forecaster",
    "UsageSeries",
    "examples",
    "walks",
]
