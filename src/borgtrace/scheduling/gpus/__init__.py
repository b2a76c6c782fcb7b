"""GPU scheduling: pods that share devices, whole devices, models, CPU and memory, as in FGD (ATC 2023)."""
