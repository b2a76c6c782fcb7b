"""Queries whose step is shorter than the time between two scrapes: said once, by counters alone."""

from __future__ import annotations

import pytest

from tests.ingest.prometheus_files import APP, CPU, MEMORY, answer, level, series, store_of

NOTE = (
    "Samples repeat: 2 of 2 counters of CPU change once in 4 samples, as the step of the query, 15s, is shorter "
    "than the time between two scrapes, about 1m. Peaks are too high, as all use of 1m stands in one window of 15s: "
    "query with a step of 1m."
)


def _scraped(step: int, scrape: int, cores: float = 0.5, idle: tuple[int, ...] = ()):
    """Return samples of a counter at a step, of which the server has one each scrape; idle scrapes add nothing."""
    samples = []
    for place in range(40 * scrape // step):
        n_scrapes = place * step // scrape
        n_busy = n_scrapes - sum(n_scrapes > number for number in idle)
        samples.append((place * step, f"{cores * scrape * n_busy:.9g}"))
    return samples


def _notes(folder, samples):
    found = [
        series(CPU, {**APP, "pod": pod}, samples if pod == "web-0" else samples[1:])
        for pod in ("web-0", "web-1")
    ]
    return store_of(folder, answer(*found)).manifest.notes


def test_repeated_samples_are_said_once(tmp_path):
    said = [note for note in _notes(tmp_path, _scraped(15, 60)) if "repeat" in note]
    assert said == [NOTE]


@pytest.mark.parametrize(
    ("step", "scrape", "shown"), [(20, 60, "1m"), (30, 60, "1m"), (45, 60, "")]
)
def test_the_time_between_scrapes_is_measured(tmp_path, step, scrape, shown):
    said = [note for note in _notes(tmp_path, _scraped(step, scrape)) if "Samples repeat" in note]
    assert [f"with a step of {shown}." in note for note in said] == ([True] if shown else [])


@pytest.mark.parametrize(
    "samples",
    [
        # A sample for each scrape; a container that is idle now and then; one that never does anything.
        _scraped(60, 60),
        _scraped(60, 60, idle=(3, 4, 5, 9, 20, 21)),
        [(60 * place, "7") for place in range(30)],
    ],
)
def test_counters_that_stand_still_now_and_then_do_not_repeat(tmp_path, samples):
    assert not [note for note in _notes(tmp_path, samples) if "Samples repeat" in note]


def test_memory_may_stand_still(tmp_path):
    found = [series(CPU, APP, _scraped(60, 60)), series(MEMORY, APP, level(2**29, 40))]
    notes = store_of(tmp_path, answer(*found)).manifest.notes
    assert not [note for note in notes if "Samples repeat" in note]
