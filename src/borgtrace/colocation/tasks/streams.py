"""Numbers added to the user's seed, so that one seed gives several independent random streams.

``default_rng([seed, number])``.  Instance k takes stream k, which may be one of these: no instance of a whole pool is
compared with what they draw.
"""

DIVISION = 2
"""Divides a pool into halves."""
MACHINES = 3
"""Draws machines of several kinds."""
SPAN = 4
"""Picks the tasks of a span."""
SHUFFLES = 5
"""Shuffles the series of tasks."""
PAIRS = 6
"""Pairs tasks whose usage is correlated."""
CLASSES = 7
"""Gives jobs their classes of service, where tasks have no priority."""
BLOCKS = 8
"""Resamples the blocks of a series."""
PROMISES = 11
"""Picks tasks and those without a past, for promises by class; beside the number of the instance."""
BURSTS = 0xB0257
"""Decides which windows become bursts."""
