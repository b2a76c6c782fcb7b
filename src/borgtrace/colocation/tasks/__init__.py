"""The tasks of colocation: a pool of observed windows, where it comes from, and what is drawn from it."""
