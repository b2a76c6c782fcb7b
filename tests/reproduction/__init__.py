"""Papers again, on small stores."""
