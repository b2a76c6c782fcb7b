"""What every estimator and every packer promises; a new one needs no new line here."""

from __future__ import annotations

import re

import numpy as np
import pytest

from borgtrace.errors import UsageError
from borgtrace.placement.estimators.estimator import Estimator
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.estimators.registry import estimators, parse_estimator
from borgtrace.placement.packers import packers, parse_packer
from borgtrace.placement.packing import (
    CAPACITY_RTOL,
    fit,
    pack,
    pack_fitted,
    predicted_overflow,
    rebalanced,
)

KINDS = estimators()


def instance(kind: type[Estimator]) -> Estimator:
    if kind.targets or kind.high < 1:
        return kind(0.01)
    return kind(80.0) if kind.high == 100 else kind(1.5)


def ready(kind: type[Estimator], parameter: float | None = None) -> Estimator:
    """The estimator, prepared as if every target it tries were kept exactly."""
    made = instance(kind) if parameter is None else kind(parameter)
    return made.prepared(lambda tried: [each.parameter for each in tried])


def seen(n: int = 60, seed: int = 0) -> Observation:
    rng = np.random.default_rng(seed)
    values = np.minimum(
        rng.gamma(0.8, 0.06, (n, 200)),
        1,
    ).astype(np.float32)
    return Observation(
        values,
        request=np.where(
            np.arange(n) % 7,
            values.max(axis=1),
            np.nan,
        ).astype(float),
    )


ESTIMATORS = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
PACKERS = pytest.mark.parametrize("packer", packers().values(), ids=packers())


@ESTIMATORS
@PACKERS
def test_each_task_is_in_one_bin_and_no_bin_violated_its_test(kind, packer):
    fitted = fit(ready(kind), seen())
    packing = pack_fitted(fitted, packer=packer)
    assert ((packing.bins >= -1) & (packing.bins < len(packing.rows))).all()
    assert set(packing.bins[packing.bins >= 0].tolist()) == set(range(packing.n_bins))
    assert packing.bins[packing.bins >= 0][0] == 0
    states: dict[int, np.ndarray] = {}
    row = fitted.estimator.row(1.0) * CAPACITY_RTOL
    for item, b in zip(fitted.items, packing.bins.tolist(), strict=True):
        state = states.setdefault(b, fitted.empty.copy()) if b >= 0 else fitted.empty
        room = fitted.estimator.test.room(state, item, row, fitted.parameters)
        assert (room >= 0) == (b >= 0)
        if b >= 0:
            fitted.estimator.test.join(state, item)


@ESTIMATORS
def test_rebalancing_keeps_every_task(kind):
    fitted = fit(ready(kind), seen(seed=3))
    plain = pack_fitted(fitted)
    after = rebalanced(plain, fitted)
    assert (after.bins >= 0).tolist() == (plain.bins >= 0).tolist()
    changed = after.bins != plain.bins
    assert after.moved == changed.sum()
    assert (after.bins[changed] == len(plain.rows) - 1).all()
    assert after.n_bins <= plain.n_bins


@ESTIMATORS
def test_same_input_same_packing(kind):
    first, second = (pack(ready(kind), seen(seed=5)) for _ in range(2))
    assert first.bins.tolist() == second.bins.tolist()


@ESTIMATORS
def test_twice_the_usage_on_twice_the_machine_is_the_same(kind):
    one = seen(seed=7)
    two = Observation(
        2 * one.values,
        request=None if one.request is None else 2 * one.request,
    )
    assert (
        pack(ready(kind), one).bins.tolist() == pack(ready(kind), two, capacity=2.0).bins.tolist()
    )


@ESTIMATORS
def test_idle_tasks_share_one_machine_and_giants_are_listed(kind):
    idle = Observation(
        np.zeros((5, 10), np.float32),
        request=np.zeros(5),
    )
    assert pack(ready(kind), idle).bins.tolist() == [0] * 5
    giant = Observation(
        np.full((1, 10), 3.0, np.float32),
        request=np.full(1, 4.6),
    )
    packing = pack(ready(kind), giant)
    assert packing.n_bins == 0
    assert packing.unplaceable.tolist() == [0]


@ESTIMATORS
def test_no_tasks_no_bins(kind):
    nothing = Observation(
        np.zeros((0, 10), np.float32),
        request=np.zeros(0),
    )
    packing = pack(ready(kind), nothing)
    assert packing.n_bins == 0
    assert len(packing.bins) == 0
    assert packing.moved == 0


@ESTIMATORS
def test_a_stricter_parameter_never_needs_fewer_machines(kind):
    lax = ready(kind)
    strict = ready(
        kind, lax.parameter / 10 if kind.targets or kind.high < 1 else lax.parameter * 1.2
    )
    if kind.name == "request":
        strict = kind(lax.parameter / 1.3)
    a = pack(lax, seen(seed=1))
    b = pack(strict, seen(seed=1))
    assert b.n_bins + len(b.unplaceable) >= a.n_bins + len(a.unplaceable)


@ESTIMATORS
def test_it_says_what_it_is(kind):
    made = instance(kind)
    assert parse_estimator(f"{kind.name}:{made.parameter}") == made
    assert made.label == f"{kind.name} {made.parameter:g}"
    assert kind.about
    assert kind.symbol
    assert len(kind.__doc__ or "") > 80
    # With a number; its own sentence, none that it has from its base.
    assert re.search(r"Where it is wrong\n *-+\n[^-]*\d", kind.__doc__)
    for estimator in kind.family():
        assert isinstance(estimator, kind)


@ESTIMATORS
def test_it_refuses_parameters_outside_its_range(kind):
    with pytest.raises(
        UsageError, match=f"^{kind.name}: {kind.symbol}: out of range: expected a number above 0"
    ):
        kind(0)
    with pytest.raises(UsageError):
        kind(float("nan"))
    if np.isfinite(kind.high):
        with pytest.raises(UsageError):
            kind(kind.high * 1.01)


@ESTIMATORS
def test_it_learns_without_breaking_its_promise_to_be_an_estimator(kind):
    tried: list[float] = []

    def qualities(estimators_):
        tried.extend(each.parameter for each in estimators_)
        return [1.6 * each.parameter for each in estimators_]

    learned = instance(kind).prepared(qualities)
    assert learned.name == kind.name
    assert pack(learned, seen()).n_bins >= 1


@ESTIMATORS
def test_predictions_are_probabilities_within_the_target(kind):
    fitted = fit(ready(kind), seen(seed=2))
    packing = pack_fitted(fitted)
    if not kind.predicts:
        with pytest.raises(UsageError, match="predicts no probability of overflow"):
            predicted_overflow(packing, fitted)
        return
    predicted = predicted_overflow(packing, fitted)
    assert ((predicted >= 0) & (predicted <= fitted.estimator.parameter + 1e-12)).all()


def test_messages():
    with pytest.raises(UsageError) as caught:
        parse_estimator("gauss:0.1")
    assert str(caught.value) == (
        f"estimator: unknown name: expected one of {', '.join(KINDS)}, got gauss; "
        "write name:parameter, such as gpa:0.001; one of your own: name its file with --from"
    )
    with pytest.raises(UsageError) as caught:
        parse_estimator("gpa")
    assert str(caught.value) == "estimator gpa: parameter is not a number: expected gpa:ρ, got gpa"
    with pytest.raises(UsageError) as caught:
        parse_estimator("gpa:1.5")
    assert (
        str(caught.value) == "gpa: ρ: out of range: expected a number above 0 and below 1, got 1.5"
    )
    with pytest.raises(UsageError) as caught:
        parse_packer("next-fit")
    assert (
        str(caught.value)
        == f"packer: unknown name: expected one of {', '.join(packers())}, got next-fit"
    )
    with pytest.raises(UsageError) as caught:
        Observation(np.float32([[0.1, np.nan]]))
    assert "usage is negative or not a number" in str(caught.value)
    with pytest.raises(UsageError) as caught:
        pack(parse_estimator("average:1"), seen(), capacity=0.0)
    assert (
        str(caught.value)
        == "capacity: not the capacity of a machine: expected a number above 0, got 0"
    )
    with pytest.raises(UsageError) as caught:
        pack(
            parse_estimator("request:1"),
            Observation(np.zeros((1, 1), np.float32)),
        )
    assert str(caught.value) == (
        "estimator request: no requests are known; use a store or a pool file with requests, or another estimator"
    )
