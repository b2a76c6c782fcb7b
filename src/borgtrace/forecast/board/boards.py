"""The boards: what each is made of, and what is published on it.

GIFT-Eval (arXiv 2410.10393), the leaderboard of SalesforceAIResearch/gift-eval at 4fd98a9: 119 results.  Two of them,
tempo_ensemble and TurkForecast, were scored on other labels and are left out, as are most of the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple


class PublishedRow(NamedTuple):
    """A result of the leaderboard; None where it is not known here.

    Attributes
    ----------
    model
        Its name there.
    crps, mase, mae, smape
        As printed.
    rank
        By CRPS, among all results of the board.
    """

    model: str
    crps: float
    mase: float
    mae: float | None = None
    smape: float | None = None
    rank: int | None = None


@dataclass(frozen=True)
class Board:
    """A configuration of the leaderboard.

    Attributes
    ----------
    name
        As the leaderboard has it.
    file_set
        What its series are made of.
    n_vms, begin, n_bins
        How many VMs that has, Unix seconds of its first bin, and how many bins there are.
    n_labels
        How many labels count; None where nobody published that.
    published
        Results, by CRPS.
    """

    name: str
    file_set: str
    n_vms: int
    begin: int
    published: tuple[PublishedRow, ...]
    n_bins: int = 8640
    n_labels: int | None = None


FAST_STORAGE = Board(
    name="bitbrains_fast_storage/5T/short",
    file_set="GWA-T-12 fastStorage",
    n_vms=1250,
    begin=int(datetime(2013, 8, 12, 13, 40, tzinfo=UTC).timestamp()),
    n_labels=2_100_710,
    published=(
        PublishedRow("Toto-2.0-1B", 0.3375, 0.629, 133.2, 0.705, 1),
        PublishedRow("Toto-2.0-313m", 0.3388, 0.638, 136.9, 0.709, 2),
        PublishedRow("Toto-2.0-2.5B", 0.3401, 0.648, 137.5, 0.704, 3),
        PublishedRow("RAES-Conductance", 0.3450, 0.620, 135.9, 0.709, 4),
        PublishedRow("Toto-2.0-FnF", 0.3457, 0.609, 136.4, 0.704, 6),
        PublishedRow("STRIDE_w_Synapse", 0.3477, 0.623, 144.5, 0.721, 7),
        PublishedRow("FastCastrage", 0.3480, 0.616, 141.2, 0.710, 8),
        PublishedRow("LS-Agent", 0.3499, 0.613, 138.9, 0.695, 9),
        PublishedRow("RacineCast-1", 0.3506, 0.618, 139.1, 0.708, 10),
        PublishedRow("metis-autocast", 0.3619, 0.648, 143.3, 0.726, 18),
        PublishedRow("Toto-2.0-4m", 0.3713, 0.661, 148.6, 0.728, 26),
        PublishedRow("TiRex", 0.3800, 0.690, 152.6, 0.749, 32),
        PublishedRow("Chronos-2", 0.3906, 0.656, 159.0, 0.743, 42),
        PublishedRow("TimesFM-2.5", 0.3973, 0.711, 156.9, 0.655, 45),
        PublishedRow("xLSTM-Mixer", 0.4066, 1.152, 166.3, 0.730, 51),
        PublishedRow("Moirai2", 0.4275, 0.686, 171.7, 0.743, 68),
        PublishedRow("TFT", 0.451, 0.996, 174.0, 0.736, 79),
        PublishedRow("FLAIR", 0.4706, 1.000, 187.1, 0.606, 89),
        PublishedRow("PatchTST", 0.471, 0.973, 175.0, 0.740, 90),
        PublishedRow("DeepAR", 0.493, 0.945, 182.0, 0.800, 94),
        PublishedRow("DLinear", 0.577, 1.48, 184.0, 0.780, 103),
        PublishedRow("N-BEATS", 0.622, 1.09, 198.0, 0.759, 110),
        PublishedRow("AutoTheta", 0.731, 1.15, 203.0, 0.750, 114),
        PublishedRow("naive", 0.892946, 1.09481, 173.2819, 0.374655),
        PublishedRow("seasonal-naive", 1.210386, 1.13602, 346.4374, 0.476182),
    ),
)
RND = Board(
    name="bitbrains_rnd/5T/short",
    file_set="GWA-T-12 rnd, July 2013",
    n_vms=500,
    begin=int(datetime(2013, 6, 30, 22, 0, tzinfo=UTC).timestamp()),
    published=(
        PublishedRow("metis-autocast", 0.3556, 1.578),
        PublishedRow("STRIDE_w_Synapse", 0.3634, 1.587),
        PublishedRow("Toto-2.0-313m", 0.3693, 1.577),
        PublishedRow("Toto-2.0-1B", 0.3701, 1.569),
        PublishedRow("LS-Agent", 0.3704, 1.573),
        PublishedRow("RAES-Conductance", 0.3726, 1.580),
        PublishedRow("Toto-2.0-FnF", 0.3747, 1.570),
        PublishedRow("RacineCast-1", 0.3774, 1.574),
        PublishedRow("FastCastrage", 0.3790, 1.583),
        PublishedRow("Toto-2.0-2.5B", 0.3805, 1.568),
        PublishedRow("Toto-2.0-4m", 0.3881, 1.638),
        PublishedRow("xLSTM-Mixer", 0.3952, 2.015),
        PublishedRow("TiRex", 0.4043, 1.654),
        PublishedRow("Moirai2", 0.4043, 1.652),
        PublishedRow("TimesFM-2.5", 0.4079, 1.657),
        PublishedRow("Chronos-2", 0.4157, 1.618),
        PublishedRow("PatchTST", 0.474, 1.98),
        PublishedRow("TFT", 0.486, 2.27),
        PublishedRow("FLAIR", 0.4989, 1.910),
        PublishedRow("DeepAR", 0.557, 2.10),
        PublishedRow("DLinear", 0.571, 2.63),
        PublishedRow("N-BEATS", 0.656, 2.18),
        PublishedRow("AutoTheta", 0.741, 2.07),
        PublishedRow("naive", 0.868335, 2.05642, 130.1622, 0.345480),
        PublishedRow("seasonal-naive", 1.101590, 1.97081, 210.5518, 0.384084),
    ),
)
BOARDS = {board.name: board for board in (FAST_STORAGE, RND)}
"""By name."""
