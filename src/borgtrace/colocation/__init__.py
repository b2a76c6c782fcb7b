"""Instantaneous usage and SLO-aware colocation, after Janus & Rzadca (SoCC'17)."""
