"""Which task fits on which machine: estimators (room tests), packers and scorers, the state of machines."""
