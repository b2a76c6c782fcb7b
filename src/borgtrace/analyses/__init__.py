"""The questions: one module each, with its result, its chart and what papers claim about it.

Modules whose name starts with an underscore hold expressions that several questions share.
"""
