"""Experiments with peak policies: what each saves, and at which risk."""
