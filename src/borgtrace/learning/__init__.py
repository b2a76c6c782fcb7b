"""Learning with PyTorch on CPU or GPU; modules here import NumPy alone until something is computed."""
