"""What several folders of experiments need; they import it, and never each other."""
