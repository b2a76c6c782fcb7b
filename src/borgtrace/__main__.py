"""``python -m borgtrace``."""

from borgtrace.cli import main

if __name__ == "__main__":
    main()
