"""Raw files: their names, the layout of their rows, and their bytes."""
