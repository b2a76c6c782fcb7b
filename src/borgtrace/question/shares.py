"""Shares and their intervals, as sentences write them."""

from borgtrace.notation import number, percent


def with_interval(value: float, low: float | None, high: float | None) -> str:
    """Return a share in percent with its 95 % interval, where that is known.

    Parameters
    ----------
    value, low, high
        The share, and the ends of its interval.

    Examples
    --------
    >>> with_interval(0.012, 0.004, 0.02), with_interval(0.012, None, None)
    ('1.2 % [0.4 to 2]', '1.2 %')
    """
    if low is None or high is None:
        return percent(value)
    return f"{percent(value)} [{number(100 * low, 3)} to {number(100 * high, 3)}]"
