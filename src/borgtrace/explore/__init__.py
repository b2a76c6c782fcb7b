"""The explorer: a local web application over one store, from the cell to a machine, a job, a task and a window."""
