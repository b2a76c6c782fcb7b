"""The questions: a folder for each heading of the report, a module for each question.

A module holds all that belongs to its question: the columns of its answer, how it is computed and drawn, and what is
claimed about it.
"""
