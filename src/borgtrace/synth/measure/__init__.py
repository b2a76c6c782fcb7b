"""The measurement: executions cut into windows, and what each window says, ready to print."""
