"""Terms under which traces are published, as one sentence for pages made of them."""

from __future__ import annotations

GOOGLE = "Google's cluster traces are published under the license CC-BY 4.0."
