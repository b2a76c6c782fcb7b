"""Shares as sentences write them: percent with three digits, and their intervals."""


def percent(share: float) -> str:
    """Return a share in percent, with at most three significant digits.

    Parameters
    ----------
    share
        1 is the whole.

    Examples
    --------
    >>> percent(0.0123456), percent(0.5), percent(0.0), percent(1.25), percent(0.00005), percent(-0.3495)
    ('1.23 %', '50 %', '0 %', '125 %', '0.005 %', '-34.9 %')
    """
    value = 100 * share
    return f"{value:,.0f} %" if abs(value) >= 1000 else f"{value:.3g} %"


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
    return f"{percent(value)} [{100 * low:.3g} to {100 * high:.3g}]"
