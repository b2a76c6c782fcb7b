"""The small rules of a fetch from a server: which times are asked for, and what a folder says is here."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fetch.fake_prometheus import FakePrometheus, Reply, Request, api_error, serving
from tests.fetch.small_cluster import MINUTE, START, cluster

from borgtrace.errors import SourceError, UsageError
from borgtrace.fetch import Backoff
from borgtrace.fetch.ledger import Entry
from borgtrace.fetch.prometheus import FetchRequest, PrometheusServer, Stretch, make_query_plan
from borgtrace.fetch.prometheus.folder import (
    AnswerFolder,
    FolderQuery,
    KeptAnswer,
    file_of,
    kept_answer,
)
from borgtrace.fetch.prometheus.run import fetch_answers
from borgtrace.fetch.prometheus.stretches import MOST_POINTS, RemainingTime, subtract
from borgtrace.fetch.version import Version

QUERY = FolderQuery("http://host", "", "", 60)


def points_of(stretch: Stretch, step: int) -> set[int]:
    return set(range(stretch.first, stretch.last + 1, step))


STRETCHES = st.tuples(st.integers(0, 400), st.integers(0, 120)).map(
    lambda ends: Stretch(60 * ends[0], 60 * (ends[0] + ends[1]))
)


@given(STRETCHES, st.lists(STRETCHES, max_size=6))
def test_what_is_left_is_what_is_wanted_and_not_here(
    wanted: Stretch, present: list[Stretch]
) -> None:
    left = subtract(wanted, present, 60)
    expected = points_of(wanted, 60)
    for stretch in present:
        expected -= points_of(stretch, 60)
    points = [point for stretch in left for point in sorted(points_of(stretch, 60))]
    assert points == sorted(expected)


@given(
    st.lists(STRETCHES, min_size=1, max_size=3),
    st.sampled_from([1, 5, 60]),
    st.integers(1, 200),
    st.lists(st.sampled_from(["good", "small", "large", "refused"]), max_size=60),
)
def test_pieces_are_all_of_the_time_and_none_twice(
    stretches: list[Stretch], window: int, longest: int, answers: list[str]
) -> None:
    todo: list[Stretch] = []
    for stretch in stretches:
        todo += subtract(stretch, todo, 60)
    remaining = RemainingTime(sorted(todo), 60, window, longest)
    expected = sorted(point for stretch in todo for point in points_of(stretch, 60))
    taken: list[int] = []
    n_samples = {"good": 150_000, "small": 10, "large": 10**6}
    while piece := remaining.take():
        points = piece.points(60)
        assert points <= max(window, MOST_POINTS)
        # Whole windows, or the rest of a stretch that is less than one.
        assert points % window == 0 or points < window
        answer = answers.pop() if answers else "good"
        if answer == "refused" and remaining.halve(piece):
            continue
        if answer == "refused":
            # What cannot be halved is an error of the fetch; here it is answered when asked again.
            assert remaining.take() == piece
            answer = "good"
        remaining.learn(piece, n_samples[answer])
        taken += sorted(points_of(piece, 60))
    assert sorted(taken) == expected


def test_lengths_follow_what_comes_and_what_is_refused() -> None:
    remaining = RemainingTime([Stretch(0, 60 * 9_999)], 60, longest=100)
    first = remaining.take()
    assert first == Stretch(0, 60 * 99)
    remaining.learn(first, 300_000)
    second = remaining.take()
    assert second == Stretch(60 * 100, 60 * 149)
    remaining.learn(second, 1_000)
    third = remaining.take()
    assert third is not None
    assert third.points(60) == 100
    assert remaining.halve(third)
    lengths = []
    for _ in range(9):
        piece = remaining.take()
        assert piece is not None
        lengths.append(piece.points(60))
        remaining.learn(piece, 1_000)
    # What was refused is tried again after eight answers.
    assert lengths == [50] * 8 + [100]


@pytest.mark.parametrize(
    "path",
    [
        "kube_pod_owner/kube_pod_owner_20261101T000000Z_20261101T005900Z.json",
        "kube_pod_owner/container_x_20261101T000000Z_20261101T005900Z.json.gz",
        "other/other_20261101T000000Z_20261101T005900Z.json.gz",
        "kube_pod_owner/kube_pod_owner_20261399T000000Z_20261101T005900Z.json.gz",
        "../kube_pod_owner_20261101T000000Z_20261101T005900Z.json.gz",
    ],
)
def test_a_file_of_another_name_is_no_answer(path: str) -> None:
    assert kept_answer(path) is None


def test_a_name_says_what_is_in_the_file() -> None:
    # 1,793,491,200 s are 2026-11-01 00:00 UTC.
    path = "kube_pod_owner/kube_pod_owner_20261101T000000Z_20261101T005900Z.json.gz"
    stretch = Stretch(1_793_491_200, 1_793_494_740)
    assert kept_answer(path) == KeptAnswer("kube_pod_owner", stretch)
    assert file_of("kube_pod_owner", stretch) == path


def test_a_ledger_that_names_files_elsewhere_is_not_believed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.json.gz"
    outside.write_bytes(b"x")
    path = file_of("kube_pod_owner", Stretch(0, 60))
    with AnswerFolder.open(tmp_path / "answers", QUERY) as folder:
        folder.ledger.record("../outside.json.gz", Entry("done", Version(1)))
        folder.ledger.record(path, Entry("empty", Version(0)))
        assert folder.intervals() == {"kube_pod_owner": [Stretch(0, 60)]}


@pytest.mark.parametrize("content", ["", "[]", '{"server": 1}', "{"])
def test_a_folder_that_does_not_say_its_query_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / ".fetch.json").write_text(content)
    with pytest.raises(SourceError) as error:
        AnswerFolder.read(tmp_path, QUERY)
    assert str(error.value) == (
        f"{tmp_path / '.fetch.json'}: does not say what the answers beside it are; "
        "fetch to another folder"
    )


@pytest.mark.parametrize(("first", "last"), [(30, 120), (60, 150), (120, 60), (-60, 60)])
def test_a_period_lies_on_the_grid_of_its_step(first: int, last: int) -> None:
    with pytest.raises(UsageError) as error:
        FetchRequest(Path("answers"), (), Stretch(first, last), 60)
    assert str(error.value) == (
        "period: not on the grid of its step: expected first and last as whole multiples of 60 s, in this order, "
        f"got {first} and {last}"
    )


def test_windows_lie_side_by_side_whatever_is_refused(tmp_path: Path) -> None:
    """Of what hardly changes: from one step before the first time to the last, without a gap."""

    def choose(request: Request) -> Reply | None:
        if request.is_of_samples and request.n_points > 2:
            return api_error(422, "execution", "too many samples")
        return None

    period = Stretch(START, START + 310 * MINUTE)
    with serving(FakePrometheus(cluster(), choose=choose)) as fake:
        request = FetchRequest(tmp_path, (), period, 5 * MINUTE)
        with PrometheusServer(fake.url, backoff=Backoff(base=0.001, cap=0.01)) as server:
            plan = make_query_plan(server, request)
            for _ in fetch_answers(server, plan):
                pass
    seconds = []
    for asked in fake.requests:
        if asked.is_of_samples and asked.metric == "kube_pod_owner" and asked.n_points <= 2:
            match = re.search(r"\[(\d+)ms\]", asked.parameters["query"])
            assert match
            assert (int(match[1]) + 1) / 1000 == int(asked.parameters["step"])
            for number in range(asked.n_points):
                end = int(asked.parameters["start"]) + number * int(asked.parameters["step"])
                seconds.append((end - int(asked.parameters["step"]), end))
    seconds.sort()
    assert seconds[0][0] == START - 5 * MINUTE
    assert seconds[-1][1] == START + 310 * MINUTE
    assert all(before[1] == after[0] for before, after in pairwise(seconds))
    assert json.loads((tmp_path / ".fetch.json").read_text())["step"] == 300
