"""The model of a cell: who arrives, what they ask for, how they run, and what they use."""
