"""Ideas that borgtrace finds by the entry points of this package."""
