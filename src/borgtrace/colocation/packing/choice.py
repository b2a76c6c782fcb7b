"""The choice among ways of packing: ranked where they are tried, taken where they keep the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from borgtrace.colocation.packing.trial import Evidence
from borgtrace.placement import Estimator, Request


@dataclass(frozen=True)
class WayChoice:
    """What the trials of the choice say of the ways tried.

    Attributes
    ----------
    shown
        The ways worth judging, in the order tried: overcommit factors only up to the first that breaks the target.
    keeping
        Those that keep the target there.
    ranking
        The ways from the first choice to the last: those that keep the target, the fewest machines first; then the
        others, the one that comes closest first.
    factors
        Overcommit factors that keep the target there, with all smaller ones; without any, the first of all.
    """

    shown: Sequence[Estimator]
    keeping: Sequence[Estimator]
    ranking: Sequence[Estimator]
    factors: Sequence[Estimator]

    @classmethod
    def of(cls, chosen: Mapping[Estimator, Evidence]) -> WayChoice:
        """Rank the ways tried.

        Parameters
        ----------
        chosen
            What the trials of the choice say of each.
        """
        factors = [way for way in chosen if isinstance(way, Request)]
        good_factors = keeping_factors(chosen)
        # One step past the factor shows what it would break; packing the rest of the ladder again would tell no more.
        skipped = factors[len(good_factors) + 1 :]
        shown = [way for way in chosen if way not in skipped]
        keeping = []
        for way in shown:
            is_keeping = way in good_factors if way in factors else chosen[way].keeps
            if is_keeping:
                keeping.append(way)

        def by_machines(way: Estimator) -> tuple[float, float]:
            return _by_machines(chosen[way])

        def by_distance(way: Estimator) -> tuple[float, float, float]:
            return _by_distance(chosen[way])

        others = [way for way in shown if way not in keeping]
        return cls(
            shown=shown,
            keeping=keeping,
            ranking=[*sorted(keeping, key=by_machines), *sorted(others, key=by_distance)],
            factors=good_factors or factors[:1],
        )


@dataclass(frozen=True)
class HeldOutAdvice:
    """The first choices that keep the target where they are judged, by their own intervals.

    Attributes
    ----------
    way
        The first way of the ranking that keeps the target; None where nothing does.
    nearest
        Where nothing keeps the target, the way that comes closest.
    factor
        The largest overcommit factor that keeps the target with all smaller ones; None where none does.
    """

    way: Estimator | None
    nearest: Estimator | None
    factor: Estimator | None

    @classmethod
    def of(cls, choice: WayChoice, judged: Mapping[Estimator, Evidence]) -> HeldOutAdvice:
        """Pass over the choices that do not keep the target.

        Parameters
        ----------
        choice
            The ranking, which knows nothing of what judges.
        judged
            What the trial that judges says of each way shown.
        """
        kept_factors = keeping_factors({way: judged[way] for way in choice.factors})
        way = next((way for way in choice.ranking if judged[way].keeps), None)
        nearest = None
        if way is None:
            nearest = min(choice.shown, key=lambda shown: _by_distance(judged[shown]))
        return cls(way, nearest, kept_factors[-1] if kept_factors else None)


def _by_machines(evidence: Evidence) -> tuple[float, float]:
    return float(evidence.machines.mean()), evidence.stricter.value


def _by_distance(evidence: Evidence) -> tuple[float, float, float]:
    upper_ends = []
    for interval in (evidence.on_series, evidence.on_draws):
        if interval is not None:
            upper_ends.append(interval.value if interval.high is None else interval.high)
    return max(upper_ends), *_by_machines(evidence)


def keeping_factors(chosen: Mapping[Estimator, Evidence]) -> list[Estimator]:
    """Return the overcommit factors before the first that breaks the target: a larger one keeps it only by luck.

    Parameters
    ----------
    chosen
        What the trials of the choice say of each way; factors ascend.
    """
    keeping: list[Estimator] = []
    for way, evidence in chosen.items():
        if isinstance(way, Request):
            if not evidence.keeps:
                break
            keeping.append(way)
    return keeping
