"""How to cite the trace, and the papers whose claims the page judges."""

from __future__ import annotations

from borgtrace.schema.dialects import Citation

PAPERS: tuple[Citation, ...] = (
    Citation(
        "C. Reiss, A. Tumanov, G. R. Ganger, R. H. Katz, M. A. Kozuch: Heterogeneity and Dynamicity of "
        "Clouds at Scale: Google Trace Analysis. SoCC 2012.",
        "https://doi.org/10.1145/2391229.2391236",
        ("Reiss",),
    ),
    Citation(
        "A. Verma, L. Pedrosa, M. Korupolu, D. Oppenheimer, E. Tune, J. Wilkes: Large-scale cluster "
        "management at Google with Borg. EuroSys 2015.",
        "https://doi.org/10.1145/2741948.2741964",
        ("Verma", "Borg paper"),
    ),
    Citation(
        "P. Janus, K. Rzadca: SLO-aware Colocation of Data Center Tasks Based on "
        "Instantaneous Processor Requirements. SoCC 2017.",
        "https://doi.org/10.1145/3127479.3132244",
        ("Janus", "Rzadca"),
    ),
    Citation(
        "M. Tirmazi et al.: Borg: the Next Generation. EuroSys 2020.",
        "https://doi.org/10.1145/3342195.3387517",
        ("Tirmazi",),
    ),
    Citation(
        "N. Bashir, N. Deng, K. Rzadca, D. Irwin, S. Kodak, R. Jnagal: Take it to the Limit: Peak "
        "Prediction-driven Resource Overcommitment in Datacenters. EuroSys 2021.",
        "https://doi.org/10.1145/3447786.3456259",
        ("Bashir",),
    ),
    Citation(
        "Zhu et al.: an analysis of the Google cluster trace of 2011: ten observations, two measures.", "", ("Zhu",)
    ),
)


def papers_cited(references: str) -> list[Citation]:
    """Return the papers that a text refers to, by their authors' names.

    Examples
    --------
    >>> [paper.marks[0] for paper in papers_cited("Zhu et al., Fig. 10; Reiss et al., section 4")]
    ['Reiss', 'Zhu']
    """
    # In the order of the list, not in that of the questions.
    return [paper for paper in PAPERS if any(mark in references for mark in paper.marks)]
