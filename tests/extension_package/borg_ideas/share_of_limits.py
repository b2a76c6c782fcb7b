"""A peak policy: a share of the limits."""

from dataclasses import dataclass

from borgtrace import PeakPolicy


@dataclass(frozen=True)
class ShareOfLimits(PeakPolicy):
    """A share of the limits, whatever the usage."""

    share: float = 0.75

    name = "share-of-limits"
    about = "a share of the limits"

    def predict(self, block):
        return self.share * block.limits
