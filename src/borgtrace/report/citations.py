"""How to cite the trace, and the papers whose claims the page judges."""

from __future__ import annotations

from dataclasses import dataclass

LICENCE = "Google's cluster traces are published under the licence CC-BY 4.0."


@dataclass(frozen=True, slots=True)
class Citation:
    """One work; `marks` are the words by which references to it are known."""

    text: str
    address: str
    marks: tuple[str, ...] = ()


TRACES: dict[str, tuple[Citation, ...]] = {
    "2011": (
        Citation(
            "C. Reiss, J. Wilkes, J. L. Hellerstein: Google cluster-usage traces: format + schema. "
            "Technical report, Google Inc., 2011, revised 2014 for version 2.1.",
            "https://github.com/google/cluster-data",
        ),
        Citation(
            "J. Wilkes: More Google cluster data. Google research blog, November 2011.",
            "https://github.com/google/cluster-data",
        ),
    ),
    "2019": (
        Citation(
            "M. Tirmazi, A. Barker, N. Deng, M. E. Haque, Z. G. Qin, S. Hand, M. Harchol-Balter, J. Wilkes: "
            "Borg: the Next Generation. EuroSys 2020.",
            "https://doi.org/10.1145/3342195.3387517",
        ),
        Citation(
            "J. Wilkes: Google cluster-usage traces v3. Technical report, Google Inc., April 2020.",
            "https://github.com/google/cluster-data",
        ),
    ),
}

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
    return [paper for paper in PAPERS if any(mark in references for mark in paper.marks)]
