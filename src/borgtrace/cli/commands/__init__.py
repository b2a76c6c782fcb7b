"""The commands, one per module: each parses its options, calls the library and prints."""
