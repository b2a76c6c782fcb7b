"""Packing experiments: the paper's Fig. 7–13 and what lies past it, one question per module."""

from __future__ import annotations
