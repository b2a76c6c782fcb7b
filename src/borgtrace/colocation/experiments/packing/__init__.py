"""Experiments of the paper that pack tasks onto machines."""

HEADING = "Colocation: packing machines"

QUESTIONS = [
    "packing_base",
    "packing_averages",
    "packing_capacities",
    "packing_clairvoyance",
    "packing_rebalancing",
    "packing_rare_events",
]
