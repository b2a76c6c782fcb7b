"""The base class of forecasters: they see an hour of a task's usage, and forecast the slots of the next hour."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from borgtrace.forecast.series import Examples, Past
from borgtrace.kernels.arrays import Numbers


class Forecaster(ABC):
    """Forecasts usage; a subclass has `name`, `about` and :meth:`predict`, and one that learns also :meth:`fit`.

    Users can name it once its file follows ``--from``, its package has an entry point of the group
    ``borgtrace.forecasters``, or, one of ours, :mod:`borgtrace.forecast.registry` lists it.  In Python its class, or an
    object of it, stands where a name would.  Each cut of a back-test trains a new one.

    Attributes
    ----------
    name, about
        What users call it, and what it does, in a sentence.
    needs
        A package that it needs beside borgtrace; empty for none.  What needs ``torch`` may be given a device.
    is_row_by_row
        Whether each row is forecast from itself alone.  It then gets many slots at once, which is faster; where it is
        not, :meth:`predict` gets one slot after the other, so that no row can tell of another's future.
    seed
        Of whatever is random; it is set before :meth:`fit`.
    device
        Where PyTorch computes, as of ``--device``; it is set before :meth:`fit`.

    Examples
    --------
    >>> class MeanOfTheHour(Forecaster):
    ...     name = "mean-of-the-hour"
    ...     about = "the mean of the last hour"
    ...
    ...     def predict(self, past, horizon, quantiles):
    ...         return past.usage.mean(axis=1, keepdims=True).repeat(horizon, axis=1)
    """

    name: str
    about: str
    needs: str = ""
    is_row_by_row: bool = False
    seed: int = 0
    device: str = "cpu"

    def fit(self, train: Examples) -> None:  # noqa: B027 (some have nothing to learn)
        """Learn from what came before the cut.

        Parameters
        ----------
        train
            The first four fifths of the examples, by time: `usage` (n, 12), `day_before` and `target` (n, 12), or
            (n, 48) on a public board.  A target is NaN where the task had ended.
        """

    @abstractmethod
    def predict(self, past: Past, horizon: int, quantiles: Sequence[float]) -> Numbers:
        """Forecast the next slots.

        Parameters
        ----------
        past
            What is known at the end of the newest slot of each row, of which there is at least one.
        horizon
            How many slots are forecast: 12 at most, or 48 on a public board.
        quantiles
            Probabilities, ascending, of the quantiles that are judged.

        Returns
        -------
        float64 (n, horizon) or (n, horizon, len(quantiles))
            The usage that is expected, as fractions of the largest machine: intervals then come from the errors that it
            made on the last fifth of the training hours.  Or its quantiles, which are judged as they are.
        """
