"""The measurement: executions cut into windows, and the values of each window, ready to print."""
