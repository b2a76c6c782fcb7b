"""Questions, on tables small enough to answer by hand."""
