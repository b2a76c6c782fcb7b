"""Shares and their intervals, as sentences write them."""

from borgtrace.notation import number, percent


def with_interval(value: float, low: float | None, high: float | None) -> str:
    """Return a share in percent with its 95 % interval, or the end of it that is known.

    Parameters
    ----------
    value, low, high
        The share, and the ends of its interval.

    Examples
    --------
    >>> with_interval(0.012, 0.004, 0.02), with_interval(0.012, None, None), with_interval(0.0, None, 0.13)
    ('1.2 % [0.4 to 2]', '1.2 %', '0 % [up to 13]')
    """
    if high is None:
        return percent(value)
    if low is None:
        return f"{percent(value)} [up to {number(100 * high, 3)}]"
    return f"{percent(value)} [{number(100 * low, 3)} to {number(100 * high, 3)}]"
