"""Cells to simulate, one profile per trace format."""

from collections.abc import Mapping
from typing import Final

from borgtrace.synth.profiles.google2011 import GOOGLE_2011
from borgtrace.synth.profiles.google2019 import GOOGLE_2019
from borgtrace.synth.profiles.profile import LENGTHS, Profile, Tier

PROFILES: Final[Mapping[str, Profile]] = {"2011": GOOGLE_2011, "2019": GOOGLE_2019}
"""Profiles by dialect."""

__all__ = ["GOOGLE_2011", "GOOGLE_2019", "LENGTHS", "PROFILES", "Profile", "Tier"]
