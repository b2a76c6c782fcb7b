"""One module per generated page; each has ``page() -> str``."""
