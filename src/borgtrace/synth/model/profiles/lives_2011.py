"""How long the jobs of 2011 live and how they end, as the tiers share it."""

from borgtrace.synth.model.draws import QuantileCurve

SMALL_JOBS = QuantileCurve.through(
    {
        0.0: 8.5,
        0.1: 22.0,
        0.25: 50.0,
        0.5: 88.0,
        0.75: 290.0,
        0.9: 1058.0,
        0.95: 1800.0,
        0.993: 4500.0,
        1.0: 60_000.0,
    }
)
"""Durations of jobs that finish (p50 108.6, p90 1,058, p99 10,337 s, mean 650.7 s): job events of the month.

The medians are somewhat lower, because the last of several tasks decides how long a job lasts."""
KILLED_JOBS = QuantileCurve.through(
    {
        0.0: 5.0,
        0.1: 45.0,
        0.25: 110.0,
        0.5: 215.0,
        0.75: 650.0,
        0.9: 2300.0,
        0.983: 6000.0,
        0.994: 30_000.0,
        1.0: 800_000.0,
    }
)
"""The same of jobs that are killed (p50 262.9, p90 2,644, p99 86,363 s, mean 5,792 s)."""
LASTING = QuantileCurve.through(
    {
        0.0: 300.0,
        0.15: 3600.0,
        0.5: 20_000.0,
        0.9: 200_000.0,
        1.0: 700_000.0,
    }
)
"""Run times of the class that is most sensitive to latency: usually long (Zhu et al., Observation 10)."""
SMALL_ENDS = {
    "EVICT": (0.002, 0.004, 0.01, 0.03, 0.1, 0.2),
    "FAIL": (0.01,) * 6,
    "FINISH": (0.988, 0.986, 0.98, 0.96, 0.89, 0.79),
}
"""How runs of small jobs end: the jobs that are killed make up for the rest."""
PRODUCTION_ENDS = {
    "EVICT": (0.0005,) * 6,
    "FAIL": (0.01,) * 6,
    "FINISH": (0.9895,) * 6,
}
"""The same for production, of which hardly any job sees an eviction (Tirmazi et al.)."""
