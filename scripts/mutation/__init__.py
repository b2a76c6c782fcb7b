"""Changing the code on purpose, to see whether a test notices."""
