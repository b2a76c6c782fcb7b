"""Bytes of a raw file → typed columns: a fast reader for each container, and the validating reader for all."""
