"""Reproduce a paper: its tables and figures in its order, published numbers beside those of a store."""

from borgtrace.reproduction.published import find_paper, papers
from borgtrace.reproduction.published_paper import ItemAnswer, PublishedItem, PublishedPaper
from borgtrace.reproduction.reproducing import ReproductionOptions, reproduce
from borgtrace.reproduction.reproduction import ReproducedItem, Reproduction

__all__ = [
    "ItemAnswer",
    "PublishedItem",
    "PublishedPaper",
    "ReproducedItem",
    "Reproduction",
    "ReproductionOptions",
    "find_paper",
    "papers",
    "reproduce",
]
