"""Instantaneous usage and SLO-aware colocation, after Janus & Rzadca, "Statistical workload modeling" (SoCC'17)."""
