"""How to cite the trace, and the papers whose claims the page judges."""

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
        "M. Tirmazi, A. Barker, N. Deng, M. E. Haque, Z. G. Qin, S. Hand, M. Harchol-Balter, J. Wilkes: Borg: the Next "
        "Generation. EuroSys 2020.",
        "https://doi.org/10.1145/3342195.3387517",
        ("Tirmazi",),
    ),
    Citation(
        "N. Bashir, N. Deng, K. Rzadca, D. Irwin, S. Kodak, R. Jnagal: Take it to the Limit: Peak "
        "Prediction-driven Resource Overcommitment in Datacenters. EuroSys 2021.",
        "https://doi.org/10.1145/3447786.3456259",
        ("Bashir",),
    ),
    # Its text is known, its title page is not, and Google's bibliography of the traces does not list it.
    Citation(
        "Zhu et al.: ten observations and two measures on the Google cluster trace of 2011 (full reference not found).",
        "",
        ("Zhu",),
    ),
    Citation(
        "B. Sharma, V. Chudnovsky, J. L. Hellerstein, R. Rifaat, C. R. Das: Modeling and Synthesizing Task Placement "
        "Constraints in Google Compute Clusters. SoCC 2011.",
        "https://doi.org/10.1145/2038916.2038919",
        ("Sharma",),
    ),
    Citation(
        "A. Clauset, C. R. Shalizi, M. E. J. Newman: Power-Law Distributions in Empirical Data. SIAM Review 51 (2009).",
        "https://doi.org/10.1137/070710111",
        ("Clauset",),
    ),
    Citation(
        "E. L. Kaplan, P. Meier: Nonparametric Estimation from Incomplete Observations. Journal of the American "
        "Statistical Association 53 (1958).",
        "https://doi.org/10.1080/01621459.1958.10501452",
        ("Kaplan",),
    ),
    Citation(
        "C. Masson, J. E. Rim, H. K. Lee: DDSketch: A Fast and Fully-Mergeable Quantile Sketch with Relative-Error "
        "Guarantees. PVLDB 12 (2019).",
        "https://doi.org/10.14778/3352063.3352135",
        ("Masson",),
    ),
    Citation(
        "R. Panigrahy, K. Talwar, L. Uyeda, U. Wieder: Heuristics for Vector Bin Packing. Microsoft Research, 2011.",
        "",
        ("Panigrahy",),
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
