"""How the network is trained, on one example or two, and that no forecaster uses a second thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from borgtrace.forecast import FORECASTERS, Examples
from borgtrace.forecast.forecasters import Recurrent
from borgtrace.forecast.series import HORIZONS
from borgtrace.forecast.trained import LEVELS, train
from borgtrace.kernels.arrays import Numbers
from tests.forecast.test_by_hand import NAN, example, joined


@pytest.fixture
def torch() -> Any:
    """Torch, whose own generator stays as it was for other tests."""
    module = pytest.importorskip("torch")
    with module.random.fork_rng(devices=[]):
        yield module


@pytest.fixture
def steps(torch: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, int]]:
    """Length of the gradient, and number of threads, at each step of training."""
    found: list[tuple[float, int]] = []

    class Watched(torch.optim.Adam):  # type: ignore[misc]
        def step(self, closure: Any = None) -> Any:
            parts = [each.grad.ravel() for group in self.param_groups for each in group["params"]]
            found.append((float(torch.cat(parts).norm()), torch.get_num_threads()))
            return super().step(closure)

    monkeypatch.setattr(torch.optim, "Adam", Watched)
    return found


def fitted(known: Examples, seed: int = 0) -> Recurrent:
    network = Recurrent()
    network.seed = seed
    network.fit(known)
    return network


def means_of(network: Recurrent, seen: Examples) -> Numbers:
    return network.predict(seen, HORIZONS, LEVELS)


def test_a_network_depends_on_its_seed_alone(torch: Any) -> None:
    known = example(0, 0.5, 0.6)
    means = []
    for others, seed in ((1, 0), (2, 0), (2, 1)):
        torch.manual_seed(others)
        before = torch.get_rng_state()
        means.append(means_of(fitted(known, seed), known))
        # The generator of the program has not moved.
        assert torch.equal(torch.get_rng_state(), before)
    np.testing.assert_array_equal(means[0], means[1])
    assert (means[0] != means[2]).any()


def test_a_step_follows_a_gradient_of_length_one_at_most(steps: list[tuple[float, int]]) -> None:
    # A change of .1 is a thousand deviations of a task that never varied; five rounds of one batch.
    fitted(example(0, 0.5, 0.6))
    assert steps == [(pytest.approx(1.0), 1)] * 5


def test_errors_are_averaged_over_the_targets_that_there_are(
    steps: list[tuple[float, int]],
) -> None:
    # A tenth of a deviation to the next slot, and no other target; the same twice teaches the same.
    once = example(0, 0.5, {1: 0.50001})
    none = example(0, 0.5, NAN)
    first = []
    for known in (once, joined(once, once), joined(once, none)):
        steps.clear()
        fitted(known)
        first.append(steps[0][0])
    assert 0 < first[0] < 1
    assert first == pytest.approx([first[0]] * 3, rel=1e-4)
    assert np.isfinite(means_of(fitted(none), none)).all()


def test_the_change_is_what_the_network_tells_after_the_newest_value(torch: Any) -> None:
    """A network that counts the values it has seen, from 0, and whose deviations are .0001."""
    network = Recurrent()
    network.layers = (
        lambda x: (
            torch.arange(x.shape[1])[None, :, None].expand(
                len(x),
                -1,
                HORIZONS,
            ),
            None,
        ),
        lambda x: x,
    )
    seen = joined(example(0, 0.5, 0.5), example(1, 0.25, 0.25))
    assert means_of(network, seen) == pytest.approx(
        np.array([[0.5011] * HORIZONS, [0.2511] * HORIZONS])
    )


def test_least_squares_and_boosting_use_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of threads would tell in the last digits, or those that wait would hold up other programs."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    threads: dict[str, set[int]] = {}

    def watch(owner: Any, name: str) -> None:
        inner = getattr(owner, name)

        def watched(*given: Any, **named: Any) -> Any:
            threads.setdefault(name, set()).update(
                pool["num_threads"] for pool in threadpool_info()
            )
            return inner(*given, **named)

        monkeypatch.setattr(owner, name, watched)

    watch(np.linalg, "lstsq")
    watch(HistGradientBoostingRegressor, "fit")
    known = joined(*(example(slot, 0.5, 0.5) for slot in range(20)))
    for name in ("autoregression", "boosting"):
        forecaster = FORECASTERS[name]()
        assert train(forecaster, known).forecast(known).mean == pytest.approx(
            np.full((20, HORIZONS), 0.5)
        )
    assert threads == {
        "lstsq": {1},
        "fit": {1},
    }
