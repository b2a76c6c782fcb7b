"""When may something be advised?  Only where data that it was not chosen on show that it keeps its target.

The rule is the same for all that is advised: the upper end of its own 95 % interval, on held-out data, is within the
target.  Not the value: of many ways that hover around a target, some seem to keep it by luck.  Where nothing keeps it
in this way, that is what is said.
"""

NOTHING_KEEPS = "Nothing tested keeps the target by its 95% interval"
"""What is said where there is no advice."""


def keeps(upper_end: float | None, target: float) -> bool:
    """Whether a share is known to be within a target.

    Parameters
    ----------
    upper_end
        Of its 95 % interval; None where there is too little data for one.
    target
        Largest share that is tolerated.

    Examples
    --------
    >>> keeps(0.001, 0.001), keeps(0.0011, 0.001), keeps(None, 0.001)
    (True, False, False)
    """
    return upper_end is not None and upper_end <= target


def is_kept(lower_end: float | None, upper_end: float | None, target: float) -> bool | None:
    """Whether a share is within a target; None where its interval cannot tell.

    Parameters
    ----------
    lower_end, upper_end
        Of its 95 % interval; None where there is too little data for one.
    target
        Largest share that is tolerated.

    Examples
    --------
    >>> is_kept(0.0, 0.01, 0.01), is_kept(0.02, 0.04, 0.01), is_kept(0.0, 0.02, 0.01)
    (True, False, None)
    """
    if keeps(upper_end, target):
        return True
    if lower_end is not None and lower_end > target:
        return False
    return None
