"""The cells to simulate: one module per published trace."""

from collections.abc import Mapping

from borgtrace.synth.model.profile import Profile
from borgtrace.synth.model.profiles.google_2011 import GOOGLE_2011
from borgtrace.synth.model.profiles.google_2019 import GOOGLE_2019

PROFILES: Mapping[str, Profile] = {
    "2011": GOOGLE_2011,
    "2019": GOOGLE_2019,
}
"""Profiles by the name of the dialect."""

__all__ = ["GOOGLE_2011", "GOOGLE_2019", "PROFILES"]
