"""Whatever is damaged under a store, or in the cache: an answer is right, made again, or refused."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.store.damages import DAMAGES, DamagedRuns, flip_bit
from tests.store.versions import Versions

pytestmark = pytest.mark.wide


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DamagedRuns]:
    folder = tmp_path_factory.mktemp("damages")
    store = Versions(folder).ingest((5, 7, 8))
    with pytest.MonkeyPatch.context() as patch:
        # Each run sets it again; here it is put back at the end.
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        yield DamagedRuns(store, folder)


def _damage(runs: DamagedRuns, n: int, n_flips: int) -> Counter[str]:
    """Return the outcomes of all questions after `n` damages of all kinds and `n_flips` flipped bits."""
    outcomes: Counter[str] = Counter()
    for number in range(n + n_flips):
        draw = random.Random(number)
        damage = DAMAGES[number % len(DAMAGES)] if number < n else flip_bit
        name, answers = runs.damage(damage, draw)
        wrong = {answer for answer in answers if answer not in ("right", "refused")}
        assert not wrong, f"{number}: {name}: {wrong}"
        outcomes += answers
    return outcomes


@pytest.mark.parametrize(
    ("n", "n_flips"), [(3, 1), pytest.param(300, 200, marks=pytest.mark.scale)]
)
def test_no_damage_gives_a_wrong_answer(runs: DamagedRuns, n: int, n_flips: int) -> None:
    outcomes = _damage(runs, n, n_flips)
    # The numbers of the run, with `pytest -s`.
    print(dict(outcomes))
    assert outcomes["right"] + outcomes["refused"] == 9 * (n + n_flips)
    assert outcomes["right"]
