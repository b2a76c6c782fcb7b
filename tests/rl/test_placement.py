"""The environment of placement: its contract with Gymnasium, what it decides, and what it leaves to the replay."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="needs the extra rl")

import gymnasium
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from borgtrace.errors import UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.rl import PlacementEnv, Scenario
from borgtrace.synth import generate
from tests.ingest.raw import write_part

# The kernels of an episode are compiled first, which takes a minute.
pytestmark = pytest.mark.wide

SUBMIT, SCHEDULE, EVICT, FAIL, FINISH = range(5)
SECOND = 1_000_000


def _event(
    seconds: int,
    job: int,
    kind: int,
    machine: int | str = "",
    cpu: float = 0.5,
    memory: float = 0.25,
) -> str:
    """Return a row of task_events."""
    return f"{seconds * SECOND},,{job},0,{machine},{kind},u==,2,0,{cpu},{memory},,0"


@pytest.fixture(scope="module")
def three_machines(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    """Three machines, of which the last has half of the CPU, and four tasks."""
    folder = tmp_path_factory.mktemp("three")
    machines = [f"0,{machine},0,p,{cpu},0.5" for machine, cpu in ((1, 1), (2, 1), (3, 0.5))]
    write_part(folder / "raw", "machine_events", machines, compressed=False)
    events = [
        # The first two can be on every machine, the third on no other than the two large ones.
        *(_event(650 + job, job, SUBMIT) for job in (1, 2)),
        *(_event(660 + job, job, SCHEDULE, 1) for job in (1, 2)),
        _event(700, 3, SUBMIT, cpu=1, memory=0.5),
        _event(701, 3, SCHEDULE, 2, cpu=1, memory=0.5),
        # They run for 100 s.
        *(_event(760 + job, job, FINISH, 1) for job in (1, 2)),
        _event(801, 3, FINISH, 2, cpu=1, memory=0.5),
        _event(900, 4, SUBMIT),
        _event(901, 4, SCHEDULE, 1),
    ]
    write_part(folder / "raw", "task_events", events, compressed=False)
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return Scenario.of(folder / "store", factor=1.0)


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    """A made cell of 2019, with constraints and machines that come and go."""
    folder = tmp_path_factory.mktemp("cell")
    generate(folder / "raw", "2019", 20, 3.0, 7)
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return Scenario.of(Path(folder / "store"))


def _played(env: PlacementEnv, seed: int) -> tuple[list[float], list[float]]:
    """Return rewards, and sums of observations, of an episode of a random policy."""
    rng = np.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    rewards = []
    sums = [float(observation.sum())]
    is_over = False
    while not is_over:
        place = rng.choice(np.flatnonzero(env.action_masks()))
        observation, reward, is_terminated, is_cut, _ = env.step(place)
        assert env.observation_space.contains(observation)
        rewards.append(reward)
        sums.append(float(observation.sum()))
        is_over = is_terminated or is_cut
    return rewards, sums


def test_what_is_seen_and_what_a_choice_is_worth(three_machines: Scenario) -> None:
    env = PlacementEnv(three_machines, candidates=4)
    observation, _ = env.reset(seed=1)
    assert env.action_masks().tolist() == [True, True, True, False]
    candidates = observation[:24].reshape(4, 6)
    # With 0.5 CPU and 0.25 memory a large machine has half of both left, the small one no CPU and half of its memory.
    seen = sorted(tuple(round(float(value), 6) for value in row) for row in candidates)
    assert seen == [
        (0, 0, 0, 0, 0, 0),
        (0, 0.5, 0.5, 0.5, 1, 0),
        (0.5, 0.5, 1, 0.5, 1, 0),
        (0.5, 0.5, 1, 0.5, 1, 0),
    ]
    # What it takes; priority 0 is the lowest tier but one, and nothing waits.
    assert observation[24:26].tolist() == [0.5, 0.25]
    assert observation[27] == 0
    small = int(np.argmin(candidates[:3, 2]))
    _, reward, is_over, _, _ = env.step(small)
    # The free shares were alike, and are 0.5 apart now.
    assert (reward, is_over) == (-0.5, False)
    # The small machine is full.
    assert env.action_masks().tolist() == [True, True, False, False]
    _, reward, _, _, _ = env.step(0)
    assert reward == 0
    # One large machine is half full: the third task can only go to the other.
    assert env.action_masks().tolist() == [True, False, False, False]
    observation, _, is_over, _, _ = env.step(0)
    # All have ended when the last one comes, at 900 s.
    assert not is_over
    assert env.action_masks().tolist() == [True, True, True, False]
    _, _, is_terminated, is_cut, measures = env.step(0)
    assert (is_terminated, is_cut) == (True, False)
    assert (measures["submissions"], measures["starts"], measures["waiting_hours"]) == (4, 4, 0)


def test_a_task_without_room_waits_and_starts_without_a_decision(three_machines: Scenario) -> None:
    env = PlacementEnv(three_machines, candidates=4)
    env.reset(seed=1)
    observation = env.step(_large(env, 0))[0]
    # The second goes to the other large machine, so that none is left for the third until the first ends.
    assert observation[24] == 0.5
    env.step(_large(env, 0, is_empty=True))
    assert env.action_masks().tolist() == [True, True, True, False]
    measures = env.step(0)[4]
    # Submitted at 700 s; the first task began at 651 s and ran for 100 s: 51 s.
    assert measures["starts"] == 4
    assert measures["waiting_hours"] == pytest.approx(51 / 3600)


def _large(env: PlacementEnv, skip: int, *, is_empty: bool = False) -> int:
    """Return the place of a large machine."""
    assert env._episode is not None
    candidates = env._episode.observation[:24].reshape(4, 6)
    is_right = (candidates[:, 2] == 1) & ((candidates[:, 4] == 1) | (not is_empty))
    return int(np.flatnonzero(is_right)[skip])


def test_gymnasium_finds_no_fault(cell: Scenario) -> None:
    env = gymnasium.make("borgtrace/Placement-v0", scenario=cell, steps=50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # It is known that nothing is rendered.
        warnings.filterwarnings("ignore", message=".*render.*")
        check_env(env.unwrapped, skip_render_check=True)


def test_the_seed_decides_everything(cell: Scenario) -> None:
    first = _played(PlacementEnv(cell), 5)
    assert first == _played(PlacementEnv(cell), 5)
    assert first != _played(PlacementEnv(cell), 6)
    assert len(first[0]) > 300


def test_episodes_of_one_scenario_do_not_disturb_each_other(cell: Scenario) -> None:
    alone = _played(PlacementEnv(cell), 5)
    other = PlacementEnv(cell)
    other.reset(seed=9)
    for _ in range(20):
        other.step(0)
    assert _played(PlacementEnv(cell), 5) == alone


def test_environments_side_by_side_play_as_they_do_alone(cell: Scenario) -> None:
    env = PlacementEnv(cell)
    alone = []
    for seed in (3, 4):
        observation, _ = env.reset(seed=seed)
        steps = [observation, *(env.step(0)[0] for _ in range(10))]
        alone.append(np.array(steps))
    both = SyncVectorEnv([lambda: PlacementEnv(cell), lambda: PlacementEnv(cell)])
    steps = [both.reset(seed=[3, 4])[0].copy()]
    for _ in range(10):
        steps.append(both.step(np.array([0, 0]))[0].copy())
    assert np.array_equal(np.array(steps).swapaxes(0, 1), np.array(alone))
    assert both.call("action_masks")[0].dtype == np.bool_


def test_environments_in_processes_play_as_they_do_in_one(cell: Scenario) -> None:
    def make() -> PlacementEnv:
        return PlacementEnv(cell)

    one = SyncVectorEnv([make, make])
    # A process that was forked while threads of an engine ran might wait for them for ever.
    apart = AsyncVectorEnv([make, make], context="spawn")
    try:
        for env in (one, apart):
            env.action_space.seed(0)
        seen, seen_apart = one.reset(seed=[3, 4])[0], apart.reset(seed=[3, 4])[0]
        assert np.array_equal(seen, seen_apart)
        for _ in range(5):
            actions = np.zeros(2, np.int64)
            steps, steps_apart = one.step(actions), apart.step(actions)
            for first, second in zip(steps[:4], steps_apart[:4], strict=True):
                assert np.array_equal(first, second)
        assert np.array_equal(one.call("action_masks"), apart.call("action_masks"))
    finally:
        apart.close()


EXAMPLE = Path(__file__).parents[2] / "examples" / "rl" / "placement.py"


def test_the_example_learns_and_plays_to_its_end(tmp_path: Path) -> None:
    pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed")
    generate(tmp_path / "raw", "2011", 4, 1.0, 1)
    ingest([tmp_path / "raw"], tmp_path / "store", IngestOptions(jobs=1))
    command = [sys.executable, str(EXAMPLE), str(tmp_path / "store"), "--steps", "512"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert ended.returncode == 0, ended.stderr
    header, *rows = ended.stdout.splitlines()
    assert header.split() == ["policy", "reward", "stranded", "CPU", "waited"]
    assert [row[:14].strip() for row in rows] == ["random", "best fit", "most balanced", "learned"]


def test_room_and_constraints_are_kept(cell: Scenario) -> None:
    env = PlacementEnv(cell)
    rng = np.random.default_rng(0)
    env.reset(seed=2)
    is_over = False
    while not is_over:
        _, _, is_over, _, _ = env.step(rng.integers(env.candidates))
        state = env._episode.replay.cell
        assert (state.free >= 0).all()
        on_machine = state.tasks[:, 0]
        running = np.flatnonzero(on_machine >= 0)
        taken = np.zeros_like(state.free)
        np.add.at(taken, on_machine[running], state.sizes[running])
        assert (state.capacity - taken == state.free).all()
    rows = env._episode.rows
    starts = rows[rows[:, 2] >= 0]
    assert len(starts) > 300


def test_an_episode_is_cut_after_so_many_steps_and_begins_when_it_is_told(cell: Scenario) -> None:
    env = PlacementEnv(cell, steps=3)
    env.reset(seed=1)
    assert [env.step(0)[2:4] for _ in range(3)] == [(False, False), (False, False), (False, True)]
    whole = len(_played(PlacementEnv(cell), 1)[0])
    later = len(_played(PlacementEnv(cell, begin=3600 * SECOND), 1)[0])
    assert 0 < later < whole


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"candidates": 0}, "candidates: out of range: expected 1 to 1,024, got 0"),
        (
            {"steps": -1},
            "steps: out of range: expected 0 to 4,611,686,018,427,387,904, got -1",
        ),
    ],
)
def test_options_out_of_range_are_refused(
    cell: Scenario, options: dict[str, int], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        PlacementEnv(cell, **options)
    assert str(caught.value) == message


def test_calls_out_of_turn_are_refused(cell: Scenario) -> None:
    env = PlacementEnv(cell, begin=2**61)
    assert env.action_masks().all()
    with pytest.raises(UsageError) as caught:
        env.step(0)
    assert str(caught.value) == "step: no episode has begun; call reset first"
    with pytest.raises(UsageError) as caught:
        env.reset(seed=0)
    assert str(caught.value) == (
        "begin: nothing is to be decided in this episode: expected tasks that arrive later, and machines "
        f"that take them, got {2**61}"
    )
    env = PlacementEnv(cell)
    _played(env, 0)
    with pytest.raises(UsageError) as caught:
        env.step(0)
    assert str(caught.value) == "step: the episode is over; call reset"
