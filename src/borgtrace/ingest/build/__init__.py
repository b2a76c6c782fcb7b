"""Columns → a store: staged file by file, sorted, indexed, checked and sealed."""
