"""The reason why a store cannot answer a question: an answer, not a failure."""


class NotApplicable(Exception):  # noqa: N818 - an answer, not an error: "too short", "no usage"
    """Raised by `compute` or by a claim's `measure` where the data cannot answer; says why.

    Examples
    --------
    >>> str(NotApplicable("the trace is shorter than one day"))
    'the trace is shorter than one day'
    """

    @classmethod
    def unless(cls, found: object, reason: str) -> None:
        """Raise where nothing was found.

        Parameters
        ----------
        found
            Rows, groups, a number: what is false where there is nothing.
        reason
            Why the data cannot answer.

        Raises
        ------
        NotApplicable
            Where `found` is false.

        Examples
        --------
        >>> NotApplicable.unless([1], "no task runs")
        >>> NotApplicable.unless([], "no task runs")
        Traceback (most recent call last):
        ...
        borgtrace.question.notapplicable.NotApplicable: no task runs
        """
        if not found:
            raise cls(reason)
