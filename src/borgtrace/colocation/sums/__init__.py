"""The total usage of several tasks: sums of random samples, and how normal they are."""
