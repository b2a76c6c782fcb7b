"""Values that a shell completes: names of policies, questions, columns and the like.

A function here is called with what was typed of a word so far. It imports what it lists when it is called: most command
lines are never completed.
"""

from collections.abc import Callable, Iterable

Complete = Callable[[str], list[str]]
"""From the beginning of a word to the words that it may become."""


def completing(names: Callable[[], Iterable[str]]) -> Complete:
    """Return a function that completes names.

    Parameters
    ----------
    names
        Lists them.

    Examples
    --------
    >>> completing(lambda: ["limit", "borg", "lowest"])("l")
    ['limit', 'lowest']
    """

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


def completing_last(names: Callable[[], Iterable[str]], separator: str) -> Complete:
    """Return a function that completes the last of several names.

    Parameters
    ----------
    names
        Lists them.
    separator
        What stands between two.

    Examples
    --------
    >>> completing_last(lambda: ["cpu", "memory"], ",")("cpu,m")
    ['cpu,memory']
    """

    def complete(incomplete: str) -> list[str]:
        before, present, last = incomplete.rpartition(separator)
        return [f"{before}{present}{name}" for name in names() if name.startswith(last)]

    return complete


def names_of_policies() -> Iterable[str]:
    """Return the names of peak policies."""
    from borgtrace.overcommit.policies import policies

    return policies()


def names_of_recommenders() -> Iterable[str]:
    """Return the names of recommenders of limits."""
    from borgtrace.overcommit.recommenders import recommenders

    return recommenders()


def names_of_questions() -> Iterable[str]:
    """Return the names of questions."""
    from borgtrace import catalog

    return catalog.questions()


def names_of_experiments() -> Iterable[str]:
    """Return the names of experiments."""
    from borgtrace import catalog

    return catalog.experiments()


def names_of_estimators() -> Iterable[str]:
    """Return the names of room tests."""
    from borgtrace.placement import estimators

    return estimators()


def names_of_packers() -> Iterable[str]:
    """Return the names of packers."""
    from borgtrace.placement import packers

    return packers()


def names_of_what_ifs() -> Iterable[str]:
    """Return the rows of a compaction."""
    from borgtrace.scheduling.whatifs import WHAT_IFS

    return [what_if.name for what_if in WHAT_IFS]


def names_of_placements() -> Iterable[str]:
    """Return the names of policies that place tasks."""
    from borgtrace.scheduling import SCHEDULER_KINDS

    return SCHEDULER_KINDS


def names_of_schedules() -> Iterable[str]:
    """Return what ``simulate --policy`` takes."""
    from borgtrace.scheduling.replay import RECORDED

    return [RECORDED, *names_of_placements()]


def names_of_forecasters() -> Iterable[str]:
    """Return the names of forecasters."""
    from borgtrace.forecast import FORECASTER_KINDS
    from borgtrace.forecast.board import BASELINES

    return [*FORECASTER_KINDS, *BASELINES]


def names_of_boards() -> Iterable[str]:
    """Return the public boards of forecasts."""
    from borgtrace.forecast.board import BOARDS

    return BOARDS


def names_of_columns() -> Iterable[str]:
    """Return the columns of usage."""
    from borgtrace.schema import TABLES

    return TABLES["instance_usage"].names


def names_of_tables() -> Iterable[str]:
    """Return the tables of a trace."""
    from borgtrace.schema import TRACE_TABLES

    return TRACE_TABLES


def names_of_formats() -> Iterable[str]:
    """Return the formats of traces."""
    from borgtrace.schema.dialects import DIALECT_KINDS

    return DIALECT_KINDS


def names_of_styles() -> Iterable[str]:
    """Return the places in a paper that figures are drawn for."""
    from borgtrace.report.paper import STYLES

    return STYLES


def names_of_gpu_policies() -> Iterable[str]:
    """Return the names of policies for GPUs."""
    from borgtrace.scheduling.gpus import GPU_SCHEDULER_KINDS

    return GPU_SCHEDULER_KINDS


def names_of_papers() -> Iterable[str]:
    """Return the names of papers that can be reproduced."""
    from borgtrace.reproduction.published import PAPERS

    return PAPERS


complete_policies = completing_last(names_of_policies, "+")
complete_recommenders = completing(names_of_recommenders)
complete_questions = completing(names_of_questions)
complete_experiments = completing(names_of_experiments)
complete_estimators = completing(names_of_estimators)
complete_packers = completing(names_of_packers)
complete_what_ifs = completing(names_of_what_ifs)
complete_placements = completing_last(names_of_placements, "+")
complete_schedules = completing_last(names_of_schedules, "+")
complete_forecasters = completing(names_of_forecasters)
complete_boards = completing(names_of_boards)
complete_columns = completing_last(names_of_columns, ",")
complete_tables = completing_last(names_of_tables, ",")
complete_formats = completing(names_of_formats)
complete_resources = completing(lambda: ("cpu", "memory"))
complete_gpu_policies = completing(names_of_gpu_policies)
complete_papers = completing(names_of_papers)
complete_styles = completing(names_of_styles)
