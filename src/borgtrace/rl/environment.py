"""The environment: its spaces, its steps, and what it measures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from borgtrace.errors import EngineError, UsageError
from borgtrace.kernels.arrays import Flags, Values
from borgtrace.rl.episode import (
    ASKS,
    IS_FULL,
    OF_CANDIDATE,
    OF_TASK,
    Episode,
    play,
)
from borgtrace.rl.scenario import Scenario, grown
from borgtrace.scheduling.events import MASK, N_ROWS
from borgtrace.schema.time import Microseconds
from borgtrace.store import Store

try:
    import gymnasium
    from gymnasium import spaces
except ImportError:
    raise EngineError(
        "borgtrace.rl", "needs gymnasium", way_out='pip install "borgtrace[rl]"'
    ) from None

MOST_CANDIDATES = 1024
_NAME = "borgtrace/Placement-v0"


class PlacementEnv(gymnasium.Env[Values, np.int64]):
    """Choose a machine for each task that arrives, among a few that can take it.

    The trace is scheduled again as ``borgtrace simulate`` does it: tasks arrive, run as long as they ran, and end;
    machines come and go; constraints, anti-affinity and room are kept by the program. Where several machines can take
    a task, the environment shows up to `candidates` of them, drawn at random as in Borg, and the action is the place of
    one. It looks at 256 machines for that; if none of them can take the task, it shows the one that best fit finds.
    A task that no machine takes waits, and starts on the first machine that gets room: nothing is to be decided there.

    **Action**: ``Discrete(candidates)``. `action_masks` says which places hold a machine; they come first. A masked
    action counts as its remainder by their number, so that learners without masks get no errors.

    **Observation**: ``Box(0, 1, (6 · candidates + 4,), float32)``. For each candidate the shares of its CPU and memory
    that would be free with the task, its CPU and memory as fractions of the largest machine, whether it is empty, and
    its tasks by 64, at most 1; all 0 where there is none. Then CPU and memory that the task takes, its tier as a
    fraction of the highest, and the share of kinds of tasks that wait.

    **Reward**: how much smaller the difference between the free shares of CPU and memory becomes on the machine that
    was chosen, in [−1, 1]. What is free of one resource only is stranded; `measures` says how much, and how long
    tasks waited.

    **End**: with the trace (terminated), or after `steps` decisions (truncated).

    Parameters
    ----------
    scenario
        What is scheduled: a scenario that several environments share, a store, or its path.
    candidates
        How many machines are shown, 1 to 1,024.
    begin
        Until this time of the trace, in µs, chance chooses among the candidates.
    steps
        Decisions after which an episode is cut; 0: none.

    Raises
    ------
    UsageError
        For no candidate, or negative steps or times.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        scenario: Scenario | Store | Path | str,
        *,
        candidates: int = 8,
        begin: Microseconds = 0,
        steps: int = 0,
    ) -> None:
        _check_range("candidates", candidates, 1, MOST_CANDIDATES)
        _check_range("begin", begin, 0, 2**62)
        _check_range("steps", steps, 0, 2**62)
        self.scenario = scenario if isinstance(scenario, Scenario) else Scenario.of(scenario)
        self.candidates = candidates
        self.begin = begin
        self.steps = steps
        n_features = candidates * OF_CANDIDATE + OF_TASK
        self.action_space = spaces.Discrete(candidates)
        self.observation_space = spaces.Box(0.0, 1.0, (n_features,), np.float32)
        self._episode: Episode | None = None
        self._action = np.zeros(1, np.int64)
        self._reward = np.zeros(1, np.float64)
        self._states: Iterator[int] = iter(())
        self._n_steps = 0

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Values, dict[str, Any]]:
        """Begin an episode; the same seed shows the same candidates for the same actions.

        Raises
        ------
        UsageError
            Nothing is to be decided after `begin`.
        """
        super().reset(seed=seed)
        draw = int(self.np_random.integers(MASK))
        self._episode = self.scenario.begin(self.candidates, draw)
        self._n_steps = 0
        self._start_play()
        if self._next_state() != ASKS:
            raise UsageError(
                "begin",
                "nothing is to be decided in this episode",
                expected="tasks that arrive later, and machines that take them",
                got=str(self.begin),
            )
        return self._episode.observation.copy(), {}

    def step(self, action: np.int64 | int) -> tuple[Values, float, bool, bool, dict[str, Any]]:
        """Start the task on a candidate, and go on to the next decision.

        About 10 µs; the trace's own events between two decisions are in it.

        Raises
        ------
        UsageError
            Before the first `reset`, or after the end.
        """
        if self._episode is None:
            raise UsageError("step", "no episode has begun", way_out="call reset first")
        self._action[0] = action
        state = next(self._states, None)
        if state is None:
            raise UsageError("step", "the episode is over", way_out="call reset")
        if state == IS_FULL:
            state = self._grow()
        self._n_steps += 1
        is_over = state != ASKS
        is_cut = not is_over and self._n_steps == self.steps
        info = self.measures() if is_over or is_cut else {}
        return self._episode.observation.copy(), float(self._reward[0]), is_over, is_cut, info

    def action_masks(self) -> Flags:
        """Return which places hold a machine: bool (candidates,), as ``sb3-contrib`` asks for it."""
        if self._episode is None:
            return np.ones(self.candidates, np.bool_)
        return self._episode.mask.copy()

    def measures(self) -> dict[str, float | None]:
        """Return what ``borgtrace simulate`` would say of the schedule so far, its columns of waits and of room.

        Raises
        ------
        UsageError
            Before the first `reset`.
        """
        if self._episode is None:
            raise UsageError("measures", "no episode has begun", way_out="call reset first")
        return self.scenario.measure(self._episode, int(self._episode.progress[N_ROWS]))

    def _start_play(self) -> None:
        assert self._episode is not None
        self._states = play(
            self._episode,
            self._action,
            self._reward,
            self.begin,
            self.scenario.trace.until,
        )

    def _next_state(self) -> int:
        state = next(self._states)
        return self._grow() if state == IS_FULL else state

    def _grow(self) -> int:
        """Go on with more room for rows and for what is to come; return what comes next."""
        state = IS_FULL
        while state == IS_FULL:
            assert self._episode is not None
            self._episode = grown(self._episode)
            self._start_play()
            state = next(self._states)
        return state


def _check_range(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise UsageError(
            name,
            "out of range",
            expected=f"{least:,} to {most:,}",
            got=f"{value:,}",
        )


gymnasium.register(id=_NAME, entry_point="borgtrace.rl.environment:PlacementEnv")
