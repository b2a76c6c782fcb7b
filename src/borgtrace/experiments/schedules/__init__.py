"""Experiments with schedulers: what tasks wait under each, and how often they are evicted."""
