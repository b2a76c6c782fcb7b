"""What several folders of questions need; they import it, and never each other."""
