"""A file of trained forecasters holds what they learned, and nothing in it is run."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from borgtrace.errors import SourceError
from borgtrace.forecast import FORECASTERS, Examples
from borgtrace.forecast.registry import SAVABLE
from borgtrace.forecast.saved import load, save
from borgtrace.forecast.series import examples
from borgtrace.forecast.trained import train
from borgtrace.forecast.trees import Trees
from tests.forecast.test_forecast import noisy

WAY_OUT = "make one: borgtrace forecast STORE --save FILE"


@pytest.fixture(scope="module")
def known() -> Examples:
    return examples(noisy(12, slots=192), 0, 192, 5_000, 0)


@pytest.mark.parametrize("name", SAVABLE)
def test_a_saved_forecaster_forecasts_the_same(name: str, known: Examples, tmp_path: Path) -> None:
    if SAVABLE[name].needs == "torch":
        pytest.importorskip("torch")
    trained = train(SAVABLE[name](), known)
    save(tmp_path / "model.npz", "digest", "cpu", 96, {name: trained})
    loaded = load(str(tmp_path / "model.npz"), "digest", "cpu")
    assert loaded.begin == 96
    restored = loaded.forecasters[name]
    again, before = restored.forecast(known), trained.forecast(known)
    assert np.array_equal(again.mean, before.mean)
    assert np.array_equal(again.deviation, before.deviation)
    assert load(str(tmp_path / "model.npz"), "another", "cpu").begin == 0


def test_trees_add_up_as_those_of_the_library() -> None:
    from sklearn.ensemble import HistGradientBoostingRegressor

    random = np.random.default_rng(0)
    regressors = random.random((2_000, 14))
    # Some leave out a value, which every tree has to send somewhere.
    regressors[random.random((2_000, 14)) < 0.05] = np.nan
    target = np.nansum(regressors[:, :3], axis=1) + random.random(2_000)
    model = HistGradientBoostingRegressor(max_iter=20, early_stopping=False, random_state=0)
    # The threads of OpenMP spin while others use the machine.
    with threadpool_limits(1):
        model.fit(regressors, target)
        predicted = model.predict(regressors)
    assert np.array_equal(Trees.of(model).predict(regressors), predicted)


class Bomb:
    """What pickle would call when it reads this."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_file_of_an_earlier_version_is_refused(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "model.joblib"
    path.write_bytes(pickle.dumps(("digest", "cpu", 96, Bomb(tmp_path / "ran")), protocol))
    with pytest.raises(SourceError) as caught:
        load(str(path), "digest", "cpu")
    assert str(caught.value) == (
        f"{path}: a pickle, which can run code: expected forecasters saved as arrays, "
        "got a file of an earlier version, or of another program; "
        "train them again: borgtrace forecast STORE --save FILE"
    )
    assert not (tmp_path / "ran").exists()


def test_objects_among_the_arrays_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    bombs = np.array([Bomb(tmp_path / "ran")], dtype=object)
    np.savez(path, header=bombs, allow_pickle=True)
    with pytest.raises(SourceError, match="Object arrays cannot be loaded"):
        load(str(path), "digest", "cpu")
    assert not (tmp_path / "ran").exists()


def test_what_is_packed_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    np.savez_compressed(path, header=np.zeros(1_000))
    with pytest.raises(SourceError) as caught:
        load(str(path), "digest", "cpu")
    assert str(caught.value) == (
        f"{path}: not forecasters that were saved: got a compressed member; {WAY_OUT}"
    )


def first_left(arrays: dict[str, Any], child: int) -> None:
    arrays["boosting/left"][0] = child


DAMAGES: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "endless": (lambda arrays: first_left(arrays, 0), "a node's child is not behind it"),
    "outside": (lambda arrays: first_left(arrays, 10**9), "a node's child is not behind it"),
    "before": (lambda arrays: first_left(arrays, -2), "a node's child is not behind it"),
    "feature": (
        lambda arrays: arrays["boosting/feature"].fill(14),
        "a node asks for a feature that there is not",
    ),
    "root": (lambda arrays: arrays["boosting/roots"].fill(-1), "a tree has no root"),
    "length": (
        lambda arrays: arrays.update({"boosting/value": np.zeros(1)}),
        "columns of several lengths",
    ),
    "shape": (
        lambda arrays: arrays.update({"boosting/factor": np.zeros(3)}),
        "an array of shape (3,) in place of (12,)",
    ),
}


@pytest.fixture(scope="module")
def saved_boosting(known: Examples, tmp_path_factory: pytest.TempPathFactory) -> Path:
    trained = train(FORECASTERS["boosting"](), known)
    path = tmp_path_factory.mktemp("saved") / "model.npz"
    save(path, "digest", "cpu", 96, {"boosting": trained})
    return path


@pytest.mark.parametrize(
    ("array", "values", "reason"),
    [
        ("members", np.array(10**6), "1000000 networks in place of 3"),
        ("members", np.zeros(2), "an array of shape (2,) in place of ()"),
        (
            "0.0.1.weight",
            np.zeros((128, 3), np.float32),
            "Error(s) in loading state_dict for ModuleList:",
        ),
    ],
)
def test_networks_of_another_shape_are_refused(
    array: str, values: Any, reason: str, known: Examples, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "model.npz"
    few = known.take(np.arange(200))
    save(path, "digest", "cpu", 96, {"anchors": train(SAVABLE["anchors"](), few)})
    with np.load(path) as members:
        arrays = dict(members)
    np.savez(path, **{**arrays, f"anchors/{array}": values})
    with pytest.raises(SourceError) as caught:
        load(str(path), "digest", "cpu")
    assert str(caught.value) == (
        f"{path}: not forecasters that were saved: got {reason}; {WAY_OUT}"
    )


@pytest.mark.parametrize("damage", DAMAGES)
def test_arrays_that_lead_elsewhere_are_refused(
    damage: str, saved_boosting: Path, tmp_path: Path
) -> None:
    change, reason = DAMAGES[damage]
    with np.load(saved_boosting) as members:
        arrays = dict(members)
    change(arrays)
    path = tmp_path / "model.npz"
    np.savez(path, **arrays)
    with pytest.raises(SourceError) as caught:
        load(str(path), "digest", "cpu")
    assert str(caught.value) == (
        f"{path}: not forecasters that were saved: got {reason}; {WAY_OUT}"
    )


def test_a_file_holds_arrays_and_text_alone(saved_boosting: Path) -> None:
    with zipfile.ZipFile(saved_boosting) as archive:
        assert all(name.endswith(".npy") for name in archive.namelist())
    with np.load(saved_boosting, allow_pickle=False) as members:
        kinds = {values.dtype.kind for values in dict(members).values()}
    assert kinds <= set("fibU")
