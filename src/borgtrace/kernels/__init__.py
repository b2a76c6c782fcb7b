"""Numba functions over plain arrays: no table, no file, no global state.

Every kernel is deterministic: its result depends on its arguments alone, never on the number of
threads, because threads share work by whole rows or whole samples and additions have one order.
"""
