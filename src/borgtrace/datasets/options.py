"""Everything that makes a dataset what it is, and the number that names it."""

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from typing import Literal, get_args

from borgtrace.datasets.formats import FORMATS
from borgtrace.datasets.scaling import Method
from borgtrace.datasets.selection import Selection
from borgtrace.datasets.split import SETS, By, Split
from borgtrace.errors import UsageError, check_names
from borgtrace.schema import with_percentiles

Compat = Literal["original"]
MAX_SHARDS = 65_536
SHARDS_OF_2017 = 256
"""One for each pair of leading hex digits of an MD5; no set has more unless they are asked for."""
DEFAULTS: dict[Compat | None, tuple[int, int, By]] = {
    None: (1, 0, "job"),
    "original": (5, 50, "task"),
}
"""Least and most points of a trace (0: no bound), and what is never split: without a trap, and as in 2017."""


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
)
class Options:
    """Options of a dataset; together with the digest of the store they are its identity.

    Parameters
    ----------
    selection, split
        Which traces, and how they are divided.
    features
        Series: numeric columns of ``instance_usage``, percentiles ``"p0"`` to ``"p100"`` or the distribution that holds
        them, ``"duration"``, ``"elapsed"``.
    statics
        Static features: columns of ``tasks``, ``"tier"``.
    scale
        How series are scaled by what is measured on the training set.
    format
        ``"tfrecord"``, ``"parquet"`` or ``"npz"``.
    shards
        Files of each set; None fits them to its size.
    is_compressed
        gzip for TFRecord, zstd for Parquet, deflate for NPZ.
    seed
        Seed of the order, hence of subset and split; 0 to 2³²−1.
    compat
        ``"original"``: the algorithm and the files of the pipeline of 2017 (google-cluster-prediction), with its
        defaults: traces of 5 to 50 points, divided by task.

    Examples
    --------
    >>> a, b = Options(seed=0), Options(seed=1)
    >>> a.identity("digest") == b.identity("digest")
    False
    """

    selection: Selection = field(default_factory=Selection)
    split: Split = field(default_factory=Split)
    features: tuple[str, ...] = ("average_cpu",)
    statics: tuple[str, ...] = ()
    scale: Method = "standard"
    format: str = "tfrecord"
    shards: int | None = None
    is_compressed: bool = False
    seed: int = 0
    compat: Compat | None = None

    def __post_init__(self) -> None:
        check_names("--format", (self.format,), tuple(FORMATS))
        check_names("--scale", (self.scale,), get_args(Method))
        if self.shards is not None and not 1 <= self.shards <= MAX_SHARDS:
            raise UsageError(
                "--shards",
                "not a number of files",
                expected=f"1 to {MAX_SHARDS}",
                got=str(self.shards),
            )
        # What NumPy's legacy generator takes, whose stream is frozen.
        if not 0 <= self.seed < 2**32:
            raise UsageError("--seed", "not a seed", expected="0 to 4294967295", got=str(self.seed))
        if self.compat is not None:
            check_names("--compat", (self.compat,), get_args(Compat))
        self._fill_in()
        if self.is_original:
            self._check_original()

    @property
    def is_original(self) -> bool:
        """Whether the dataset follows the pipeline of 2017."""
        return self.compat == "original"

    def identity(self, store_digest: str) -> str:
        """Return the SHA-256 over all options and the digest of the store."""
        # Sorted, so that the order in which options are declared may change without changing identities.
        text = json.dumps({"options": asdict(self), "store": store_digest}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def _fill_in(self) -> None:
        """Fill in what was left open, so that metadata and identity say what was done."""
        selection = self.selection
        (shortest, longest, by) = DEFAULTS[self.compat]
        if selection.min_length is None:
            selection = replace(selection, min_length=shortest)
        if selection.max_length is None:
            selection = replace(selection, max_length=longest)
        # A frozen dataclass sets its fields this way.
        object.__setattr__(self, "selection", selection)
        object.__setattr__(self, "split", replace(self.split, by=self.split.by or by))
        object.__setattr__(self, "features", with_percentiles(self.features))

    def _check_original(self) -> None:
        """Refuse what the pipeline of 2017 could not do otherwise."""
        # Defaults of other options pass; what was chosen otherwise is refused, not silently overruled.
        fixed = (
            ("--format", self.format, "tfrecord"),
            ("--scale", self.scale, "standard"),
            ("--split-by", self.split.by, "task"),
            ("--shards", self.shards or SHARDS_OF_2017, SHARDS_OF_2017),
            ("--gaps", self.selection.gaps, "keep"),
            ("--split", ",".join(self.split.names), ",".join(SETS)),
            ("--gzip", self.is_compressed, False),
        )
        for option, value, needed in fixed:
            if value != needed:
                raise UsageError(
                    option, "conflicts with --compat original", expected=str(needed), got=str(value)
                )
