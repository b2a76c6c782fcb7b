"""A seeded sample of changed logic per package: how many of them do the package's tests notice?"""

from __future__ import annotations

import json
import math
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from mutation.forked import (
    ROOT,
    SOURCE,
    Fork,
    Functions,
    Items,
    functions,
    in_session,
    listen,
    patch,
    run,
    tests,
    with_source,
)
from mutation.sites import Site, is_compiled, mutated, sites

PACKAGE = SOURCE / "borgtrace"
BUDGET = 15.0
"""Seconds of CPU of tests and their fixtures, as measured unchanged, that one change is tried on; quick tests first."""
LONG_BUDGET = 4 * BUDGET
"""The same for what these leave: a study of packings is drawn for ten seconds before its first test asks it."""
PATIENCE = 60
"""Seconds of CPU beyond the budget after which tests of a change are taken to hang."""
_CONTROLS = 5
"""Changes of each package whose tests are first run without the change."""
_SHARED = ("tests/triples",)
_ALSO = {
    "cli": ("tests/datasets/test_commands.py", "tests/fetch/test_fetch_command.py"),
    "schema": (
        "tests/ingest/test_reasons.py",
        "tests/store/test_versions.py",
        "tests/synth/test_command.py",
    ),
    "kernels": ("tests/colocation", "tests/analyses/test_change_sketch.py"),
    "placement": ("tests/colocation",),
    "scheduling": ("tests/cli/test_compact.py", "tests/cli/test_simulate.py"),
    "overcommit": ("tests/cli/test_overcommit.py",),
    "lifecycle": ("tests/analyses/test_workload_questions.py", "tests/question/test_hosted.py"),
    "question": ("tests/analyses",),
    "store": ("tests/ingest",),
    "export": ("tests/datasets",),
}
"""Tests of a package beside the folder of its name, its doctests and the triples."""
_SLOW = (
    "test_browser.py",
    "test_readers.py",
    "test_kill.py",
    "test_usage_engines.py",
    "test_first_look.py",
)
"""Browsers, other people's readers, killed processes, Spark: minutes for what quicker tests see as well."""
_SPARK = ("local[", "spark")
"""What the ids of tests hold that ask Spark, which each fork starts anew: ten seconds of CPU."""
_ENGINE = "tests/engine/"
"""Where these are tried nevertheless, after all that are quicker: no others see how Spark is asked."""


@dataclass(frozen=True, slots=True)
class Fixture:
    """A shared fixture: what it costs, calls and asks for, and where its value is kept, if it could be."""

    seconds: float
    calls: frozenset[str]
    asks: tuple[str, ...]
    kept: str | None


@dataclass(frozen=True, slots=True)
class Test:
    """A test without its shared fixtures."""

    seconds: float
    calls: frozenset[str]
    fixtures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Calls:
    """Tests and shared fixtures by their ids."""

    tests: dict[str, Test]
    fixtures: dict[str, Fixture]


@dataclass(frozen=True, slots=True)
class Trial:
    """What a change is tried on: tests, and the fixtures that it cannot concern.

    `is_called` is False where no test calls the function, which then runs at import only, or is remembered.
    """

    tests: list[str]
    kept: dict[str, str]
    is_called: bool


@dataclass(frozen=True, slots=True)
class Score:
    """What became of the changes of one package."""

    package: str
    n_sites: int
    killed: int
    survivors: tuple[Site, ...]
    seconds: float

    @property
    def n(self) -> int:
        """Changes that could have been noticed."""
        return self.killed + len(self.survivors)

    def interval(self) -> tuple[float, float]:
        """Return Wilson's 95 % interval of the share that is noticed."""
        if not self.n:
            return 0.0, 1.0
        z, share = 1.959964, self.killed / self.n
        middle = share + z * z / (2 * self.n)
        half = z * math.sqrt(share * (1 - share) / self.n + z * z / (4 * self.n**2))
        below = 1 + z * z / self.n
        return max(0.0, (middle - half) / below), min(1.0, (middle + half) / below)

    def __str__(self) -> str:
        low, high = self.interval()
        share = 100 * self.killed / self.n if self.n else 100.0
        return (
            f"{self.package}: {self.killed} of {self.n} noticed, {share:.0f} % "
            f"(95 %: {100 * low:.0f}–{100 * high:.0f} %); "
            f"{self.n_sites:,} places, {self.seconds:.0f} s"
        )


def packages() -> list[str]:
    """Return the packages that have logic of their own."""
    return sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file())


def folders(package: str) -> list[str]:
    """Return the tests of a package, or of a file in it, such as ``datasets/split.py``."""
    package = package.partition("/")[0]
    own = [f"tests/{package}", f"src/borgtrace/{package}", *_ALSO.get(package, ()), *_SHARED]
    return [name for name in own if (ROOT / name).exists()]


@dataclass(frozen=True, slots=True)
class Drawn:
    """The sample of a package or file: its number of places, and those tried."""

    package: str
    n_sites: int
    tried: tuple[Site, ...]


def draw(package: str, size: int | None, seed: int) -> Drawn:
    """Draw changes of a package or file (all of them where `size` is None)."""
    paths = sorted(
        path
        for path in PACKAGE.rglob("*.py")
        if str(path.relative_to(PACKAGE)).startswith(
            f"{package}/" if "/" not in package else package
        )
    )
    every_site = [site for path in paths for site in sites(path, ROOT)]
    n_tried = min(size or len(every_site), len(every_site))
    tried = random.Random(f"{seed} {package}").sample(every_site, n_tried)
    return Drawn(package, len(every_site), tuple(tried))


def scores(packages: Sequence[str], size: int | None, seed: int, jobs: int) -> Iterator[Score]:
    """Try a sample of changes of each package; the slower way only on what the faster one leaves."""
    drawn = [draw(package, size, seed) for package in packages]
    wanted = list(dict.fromkeys(name for package in packages for name in folders(package)))
    ignored = [f"--ignore-glob=*/{slow}" for slow in _SLOW]
    with tempfile.TemporaryDirectory() as home:
        # Tests of permissions go on as another user, who must be able to enter.
        Path(home).chmod(0o755)
        reading, writing = os.pipe()
        # What fixtures made lies here until the last change is tried.
        shared = Path(home) / "fixtures"

        def work(collected: Items) -> None:
            items = {
                name: item
                for name, item in collected.items()
                if name.startswith(_ENGINE) or not any(word in name for word in _SPARK)
            }
            loaded = functions()
            measured = Measured(items, loaded, jobs, shared)
            with os.fdopen(writing, "w", buffering=1) as file:
                for sample in drawn:
                    by_test, begun = measured.of(sample.package), time.monotonic()
                    _control(sample, by_test, items, jobs)
                    # What runs at import has run: to try it on loaded functions would tell nothing.
                    called = [site for site in sample.tried if chosen(site, by_test).is_called]
                    left = _survivors(
                        called, lambda site, c=by_test: in_place(site, c, items, loaded), jobs
                    )
                    left += [site for site in sample.tried if site not in called]
                    told = [
                        [sample.tried.index(site), asdict(chosen(site, by_test, LONG_BUDGET))]
                        for site in left
                    ]
                    file.write(json.dumps([told, time.monotonic() - begun]) + "\n")
                    print(
                        f"{sample.package}: {len(left)} of {len(sample.tried)} to try again",
                        flush=True,
                    )

        # A process of its own: the one that tries again must not have loaded anything of ours.
        fork = os.fork()
        if fork == 0:
            os.close(reading)
            code = 1
            try:
                in_session([*wanted, *ignored], work)
                code = 0
            finally:
                os._exit(code)
        os.close(writing)
        # Both go on side by side: what is left of one package is tried again while the next is tried.
        for sample, line in zip(drawn, os.fdopen(reading), strict=False):
            left, seconds = json.loads(line)
            again = {sample.tried[place]: Trial(**trial) for place, trial in left}
            begun = time.monotonic()
            survivors = _survivors(list(again), lambda site, c=again: anew(site, c[site]), jobs)
            yield Score(
                sample.package,
                sample.n_sites,
                len(sample.tried) - len(survivors),
                tuple(survivors),
                seconds + time.monotonic() - begun,
            )
        if os.waitpid(fork, 0)[1]:
            raise SystemExit(1)


class Measured:
    """Tests with their seconds and the functions that each calls, by folder: each is run once."""

    def __init__(self, items: Items, loaded: Functions, jobs: int, home: Path) -> None:
        self._found: dict[str, Calls] = {}
        folder_of = {name: _folder(name) for name in items}
        waiting, running = sorted(set(folder_of.values())), dict[str, tuple[Path, Fork]]()
        while waiting or running:
            while waiting and len(running) < jobs:
                name = waiting.pop(0)
                own = [item for test, item in items.items() if folder_of[test] == name]
                folder = home / str(len(waiting))
                folder.mkdir(parents=True)
                running[name] = (
                    folder,
                    Fork(partial(listen, own, loaded, is_compiled, folder), 3600),
                )
            for name, (folder, fork) in list(running.items()):
                if (code := fork.outcome()) is not None:
                    del running[name]
                    self._found[name] = _read(name, folder / "told.json", code)
            time.sleep(0.1)

    def of(self, package: str) -> Calls:
        """Return the tests of a package."""
        wanted = tuple(folders(package))
        tests = {
            name: test
            for calls in self._found.values()
            for name, test in calls.tests.items()
            if name.startswith(wanted)
        }
        # Each folder of tests made the fixtures of all tests for itself; any of them will do.
        fixtures = {
            name: fixture
            for calls in self._found.values()
            for name, fixture in calls.fixtures.items()
        }
        return Calls(tests, fixtures)


def _folder(test: str) -> str:
    return "/".join(test.partition("::")[0].split("/")[: 3 if test.startswith("src/") else 2])


def _read(name: str, out: Path, code: int) -> Calls:
    if not out.is_file():
        raise SystemExit(f"{name}: its tests do not run unchanged ({code})")
    told = json.loads(out.read_text())
    tests = {
        test: Test(each["seconds"], frozenset(each["calls"]), tuple(each["fixtures"]))
        for test, each in told["tests"].items()
    }
    fixtures = {
        fixture: Fixture(
            each["seconds"], frozenset(each["calls"]), tuple(each["asks"]), each["kept"]
        )
        for fixture, each in told["fixtures"].items()
    }
    seconds = sum(each.seconds for each in (*tests.values(), *fixtures.values()))
    print(f"{name}: {len(tests)} tests, {seconds:.0f} s", flush=True)
    return Calls(tests, fixtures)


def chosen(site: Site, calls: Calls, budget: float = BUDGET) -> Trial:
    """Return what to try a change on: tests that call its function, quick ones first, within the budget.

    What is called at import, or once and remembered, is called by no test that says so: then all tests count.
    A shared fixture is made anew, once, where it calls the function or asks for one that does.
    """
    called = f"{site.file.removeprefix('src/')}:{site.function}"

    def concerns(names: frozenset[str]) -> bool:
        return any(name == called or name.startswith(f"{called}.<locals>") for name in names)

    by_name: dict[str, list[str]] = {}
    for id_ in calls.fixtures:
        by_name.setdefault(id_.split("::")[-2], []).append(id_)
    concerned = {id_ for id_, fixture in calls.fixtures.items() if concerns(fixture.calls)}
    while more := {
        id_
        for id_, fixture in calls.fixtures.items()
        if id_ not in concerned
        and any(asked in concerned for name in fixture.asks for asked in by_name.get(name, ()))
    }:
        concerned |= more
    kept = {
        id_: each.kept for id_, each in calls.fixtures.items() if each.kept and id_ not in concerned
    }
    mine: list[tuple[float, str, list[str]]] = []
    others: list[tuple[float, str, list[str]]] = []
    for name, test in calls.tests.items():
        uses = [id_ for fixture in test.fixtures for id_ in by_name.get(fixture, ())]
        is_mine = concerns(test.calls) or not concerned.isdisjoint(uses)
        cost = test.seconds + sum(calls.fixtures[id_].seconds for id_ in uses if id_ not in kept)
        (mine if is_mine else others).append((cost, name, uses))
    found, total, made = list[str](), 0.0, set[str]()
    for _, name, uses in [*sorted(mine), *(sorted(others) if len(mine) < 3 else [])]:
        new = {id_ for id_ in uses if id_ not in kept} - made
        cost = calls.tests[name].seconds + sum(calls.fixtures[id_].seconds for id_ in new)
        if found and total + cost > budget:
            continue
        found.append(name)
        made |= new
        total += cost
    return Trial(found, kept, bool(mine))


def _survivors(tried: Sequence[Site], begin: Callable[[Site], Fork], jobs: int) -> list[Site]:
    waiting, running, survivors = list(tried), dict[Site, Fork](), []
    while waiting or running:
        while waiting and len(running) < jobs:
            site = waiting.pop(0)
            running[site] = begin(site)
        for site, fork in list(running.items()):
            code = fork.outcome()
            if code is not None:
                del running[site]
                if code == 0:
                    survivors.append(site)
        time.sleep(0.01)
    return survivors


def _control(sample: Drawn, calls: Calls, items: Items, jobs: int) -> None:
    """Make sure that the tests pass where nothing is changed: else every change would seem to be noticed."""

    def unchanged(site: Site) -> Fork:
        trial = chosen(site, calls)
        return Fork(lambda: run([items[name] for name in trial.tests], trial.kept), PATIENCE)

    some = sample.tried[:_CONTROLS]
    passing = _survivors(some, unchanged, jobs)
    if failing := [site for site in some if site not in passing]:
        names = ", ".join(chosen(failing[0], calls).tests)
        raise SystemExit(f"{sample.package}: tests fail without a change: {names}")


def in_place(site: Site, by_test: Calls, items: Items, loaded: Functions) -> Fork:
    """Try a change on loaded functions: fast; what nobody notices is tried again by :func:`anew`."""

    def work() -> int:
        patch(loaded, site.file, mutated((ROOT / site.file).read_text(), site), site.function)
        trial = chosen(site, by_test)
        return run([items[name] for name in trial.tests], trial.kept)

    return Fork(work, round(BUDGET) + PATIENCE)


def anew(site: Site, trial: Trial) -> Fork:
    """Try a change on tests in a process that imports the changed file."""

    def work() -> int:
        with_source(site.file, mutated((ROOT / site.file).read_text(), site))
        return tests(trial.tests, trial.kept)

    return Fork(work, round(LONG_BUDGET) + PATIENCE)
