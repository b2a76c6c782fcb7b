"""The simulation: the lives of jobs, tasks and machines as events, with the documented faults planted."""
