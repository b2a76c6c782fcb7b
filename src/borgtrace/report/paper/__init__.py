"""Pictures for papers: an answer at the width of a column or of a page, with its fonts, provenance and references."""

from borgtrace.report.paper.picture import STYLES, PaperFigure, PaperStyle, paper_figure

__all__ = ["STYLES", "PaperFigure", "PaperStyle", "paper_figure"]
