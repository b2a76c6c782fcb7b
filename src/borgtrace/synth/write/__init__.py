"""The files: events and usage in the raw format of a published trace."""
