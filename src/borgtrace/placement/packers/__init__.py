"""Packers: which of the machines where a task fits it goes to; one small class in one file each."""

from __future__ import annotations
