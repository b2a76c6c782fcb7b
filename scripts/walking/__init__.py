"""A walk: every command on stores of several kinds and spans, and what a stranger reads at the end of each."""
