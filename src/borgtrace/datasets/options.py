"""Everything that makes a dataset what it is, and the number that names it."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Literal, get_args

from borgtrace.datasets.formats import FORMATS
from borgtrace.datasets.scaling import Method
from borgtrace.datasets.selection import Selection
from borgtrace.datasets.split import SETS, Split
from borgtrace.errors import UsageError, check_names

Compat = Literal["original"]
MAX_SHARDS = 65_536
SHARDS_OF_2017 = 256
"""One for each pair of leading hex digits of an MD5; no set has more unless they are asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of a dataset; together with the digest of the store they are its identity.

    Parameters
    ----------
    selection, split
        Which traces, and how they are divided.
    features
        Series: numeric columns of ``instance_usage``, ``"duration"``, ``"elapsed"``.
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
        ``"original"``: the algorithm and the files of the pipeline of 2017 (google-cluster-prediction).

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
            raise UsageError("--shards", "not a number of files", expected=f"1 to {MAX_SHARDS}", got=str(self.shards))
        # What NumPy's legacy generator takes, whose stream is frozen.
        if not 0 <= self.seed < 2**32:
            raise UsageError("--seed", "not a seed", expected="0 to 4294967295", got=str(self.seed))
        if self.compat is not None:
            check_names("--compat", (self.compat,), get_args(Compat))
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

    def _check_original(self) -> None:
        """Refuse what the pipeline of 2017 could not do otherwise."""
        # Defaults of other options pass; what was chosen otherwise is refused, not silently overruled.
        fixed = (
            ("--format", self.format, "tfrecord"),
            ("--scale", self.scale, "standard"),
            ("--split-by", self.split.by, "task"),
            ("--shards", self.shards or SHARDS_OF_2017, SHARDS_OF_2017),
            ("--gaps", self.selection.gaps, "keep"),
            ("--split", len(self.split.fractions), len(SETS)),
            ("--gzip", self.is_compressed, False),
        )
        for option, value, needed in fixed:
            if value != needed:
                raise UsageError(option, "conflicts with --compat original", expected=str(needed), got=str(value))
