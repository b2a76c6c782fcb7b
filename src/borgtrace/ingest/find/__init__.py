"""Which raw files there are, and what each of them is: recognition, discovery, and guesses about own data."""
