"""The options that define a dataset, and the digest that names it."""

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, Literal, NamedTuple

from borgtrace.datasets.formats import FORMATS
from borgtrace.datasets.scaling import Method
from borgtrace.datasets.selection import Selection
from borgtrace.datasets.split import SETS, By, Split
from borgtrace.errors import UsageError, check_names
from borgtrace.schema import with_percentiles
from borgtrace.schema.bounds import SEED, SHARDS, check_fields

Compat = Literal["original"]
SHARDS_OF_2017 = 256
"""One for each pair of leading hex digits of an MD5; no set has more unless they are asked for."""


class CompatDefaults(NamedTuple):
    """Defaults of options: least and most points of a trace (0: no bound), and what is never split."""

    min_length: int
    max_length: int
    split_by: By


DEFAULTS: dict[Compat | None, CompatDefaults] = {
    None: CompatDefaults(1, 0, "job"),
    "original": CompatDefaults(5, 50, "task"),
}
"""By ``--compat``: ours leak nothing between sets; those of 2017 are kept for comparison."""

RECORDED_NAMES = {"static": "statics", "gzip": "is_compressed"}
"""Options that ``meta.json`` and the identity record under another name: a new name there is a new format version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetOptions:
    """Options of a dataset; together with the digest of the store they are its identity.

    Parameters
    ----------
    selection, split
        Which traces, and how they are divided.
    features
        Series: numeric columns of ``instance_usage``, percentiles ``"p0"`` to ``"p100"`` or the distribution that holds
        them, ``"duration"``, ``"elapsed"``.
    static
        Static features: columns of ``tasks``, ``"tier"``.
    scale
        How series are scaled by what is measured on the training set.
    format
        ``"tfrecord"``, ``"parquet"`` or ``"npz"``.
    shards
        Files of each set; None fits them to its size.
    gzip
        Compress: gzip for TFRecord, zstd for Parquet, deflate for NPZ.
    seed
        Seed of the order, hence of subset and split; 0 to 2³²−1.
    compat
        ``"original"``: the algorithm and the files of the pipeline of 2017 (google-cluster-prediction), with its
        defaults: traces of 5 to 50 points, divided by task.

    Examples
    --------
    >>> first, second = DatasetOptions(seed=0), DatasetOptions(seed=1)
    >>> first.identity("digest") == second.identity("digest")
    False
    """

    selection: Selection = field(default_factory=Selection)
    split: Split = field(default_factory=Split)
    features: tuple[str, ...] = ("average_cpu",)
    static: tuple[str, ...] = ()
    scale: Method = "standard"
    format: str = "tfrecord"
    shards: Annotated[int, SHARDS] | None = None
    gzip: bool = False
    seed: Annotated[int, SEED] = 0
    compat: Compat | None = None

    def __post_init__(self) -> None:
        check_names("--format", (self.format,), tuple(FORMATS))
        check_fields(self)
        self._fill_in_defaults()
        if self.is_original:
            self._check_original()

    @property
    def is_original(self) -> bool:
        """Whether the dataset follows the pipeline of 2017."""
        return self.compat == "original"

    def recorded(self) -> dict[str, Any]:
        """Return the options as ``meta.json`` records them."""
        recorded = {RECORDED_NAMES.get(name, name): value for name, value in asdict(self).items()}
        # Younger than the identities of datasets that are in use: at its default it is no part of them.
        if self.selection.instances == "tasks":
            del recorded["selection"]["instances"]
        return recorded

    def identity(self, store_digest: str) -> str:
        """Return the SHA-256 over all options and the digest of the store."""
        content = {"options": self.recorded(), "store": store_digest}
        # Sorted, so that the order in which options are declared may change without changing identities.
        text = json.dumps(content, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def _fill_in_defaults(self) -> None:
        """Fill in what was left open, so that metadata and identity say what was done."""
        defaults = DEFAULTS[self.compat]
        selection = self.selection
        if selection.min_length is None:
            selection = replace(selection, min_length=defaults.min_length)
        if selection.max_length is None:
            selection = replace(selection, max_length=defaults.max_length)
        split = replace(self.split, by=self.split.by or defaults.split_by)
        # A frozen dataclass sets its fields this way.
        object.__setattr__(self, "selection", selection)
        object.__setattr__(self, "split", split)
        object.__setattr__(self, "features", with_percentiles(self.features))

    def _check_original(self) -> None:
        """Refuse what the pipeline of 2017 could not do, rather than silently overrule it."""
        fixed = (
            ("--format", self.format, "tfrecord"),
            ("--scale", self.scale, "standard"),
            ("--split-by", self.split.by, "task"),
            ("--shards", self.shards or SHARDS_OF_2017, SHARDS_OF_2017),
            ("--gaps", self.selection.gaps, "keep"),
            ("--instances", self.selection.instances, "tasks"),
            ("--split", ",".join(self.split.names), ",".join(SETS)),
            ("--gzip", self.gzip, False),
        )
        for option, value, required in fixed:
            if value != required:
                raise UsageError(
                    option,
                    "conflicts with --compat original",
                    expected=str(required),
                    got=str(value),
                )
