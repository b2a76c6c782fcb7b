"""Works that claims and methods refer to, in the order in which a page lists them."""

from borgtrace.schema.dialects import Citation

PAPERS = (
    Citation(
        text=(
            "C. Reiss, A. Tumanov, G. R. Ganger, R. H. Katz, M. A. Kozuch: Heterogeneity and "
            "Dynamicity of Clouds at Scale: Google Trace Analysis. SoCC 2012."
        ),
        address="https://doi.org/10.1145/2391229.2391236",
        marks=("Reiss",),
    ),
    Citation(
        text=(
            "A. Verma, L. Pedrosa, M. Korupolu, D. Oppenheimer, E. Tune, J. Wilkes: Large-scale "
            "cluster management at Google with Borg. EuroSys 2015."
        ),
        address="https://doi.org/10.1145/2741948.2741964",
        marks=(
            "Verma",
            "Borg paper",
        ),
    ),
    Citation(
        text=(
            "P. Janus, K. Rzadca: SLO-aware Colocation of Data Center Tasks Based on "
            "Instantaneous Processor Requirements. SoCC 2017."
        ),
        address="https://doi.org/10.1145/3127479.3132244",
        marks=(
            "Janus",
            "Rzadca",
        ),
    ),
    Citation(
        text=(
            "M. Tirmazi, A. Barker, N. Deng, M. E. Haque, Z. G. Qin, S. Hand, M. Harchol-Balter, "
            "J. Wilkes: Borg: the Next Generation. EuroSys 2020."
        ),
        address="https://doi.org/10.1145/3342195.3387517",
        marks=("Tirmazi",),
    ),
    Citation(
        text=(
            "N. Bashir, N. Deng, K. Rzadca, D. Irwin, S. Kodak, R. Jnagal: Take it to the Limit: "
            "Peak Prediction-driven Resource Overcommitment in Datacenters. EuroSys 2021."
        ),
        address="https://doi.org/10.1145/3447786.3456259",
        marks=("Bashir",),
    ),
    Citation(
        text=(
            "Q. Weng, L. Yang, Y. Yu, W. Wang, X. Tang, G. Yang, L. Zhang: Beware of Fragmentation: "
            "Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent. USENIX ATC 2023."
        ),
        address="https://www.usenix.org/conference/atc23/presentation/weng",
        marks=("FGD",),
    ),
    # Its text is known, its title page is not, and Google's bibliography of the traces does not list it.
    Citation(
        text=(
            "Zhu et al.: ten observations and two measures on the Google cluster trace of 2011 "
            "(full reference not found)."
        ),
        address="",
        marks=("Zhu",),
    ),
    Citation(
        text=(
            "B. Sharma, V. Chudnovsky, J. L. Hellerstein, R. Rifaat, C. R. Das: Modeling and "
            "Synthesizing Task Placement Constraints in Google Compute Clusters. SoCC 2011."
        ),
        address="https://doi.org/10.1145/2038916.2038919",
        marks=("Sharma",),
    ),
    Citation(
        text=(
            "A. Clauset, C. R. Shalizi, M. E. J. Newman: Power-Law Distributions in Empirical "
            "Data. SIAM Review 51 (2009)."
        ),
        address="https://doi.org/10.1137/070710111",
        marks=("Clauset",),
    ),
    Citation(
        text=(
            "E. L. Kaplan, P. Meier: Nonparametric Estimation from Incomplete Observations. "
            "Journal of the American Statistical Association 53 (1958)."
        ),
        address="https://doi.org/10.1080/01621459.1958.10501452",
        marks=("Kaplan",),
    ),
    Citation(
        text=(
            "C. Masson, J. E. Rim, H. K. Lee: DDSketch: A Fast and Fully-Mergeable Quantile "
            "Sketch with Relative-Error Guarantees. PVLDB 12 (2019)."
        ),
        address="https://doi.org/10.14778/3352063.3352135",
        marks=("Masson",),
    ),
    Citation(
        text=(
            "R. Panigrahy, K. Talwar, L. Uyeda, U. Wieder: Heuristics for Vector Bin Packing. "
            "Microsoft Research, 2011."
        ),
        address="",
        marks=("Panigrahy",),
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
    cited = []
    for paper in PAPERS:
        if any(mark in references for mark in paper.marks):
            cited.append(paper)
    return cited


def paper_of(source: str) -> Citation | None:
    """Return the paper that a source names first: whose statement it is; None where it names none.

    Examples
    --------
    >>> paper = paper_of("Reiss et al., SoCC'12, as quoted by Janus & Rzadca")
    >>> paper.marks
    ('Reiss',)
    """
    places: list[tuple[int, Citation]] = []
    for paper in PAPERS:
        for mark in paper.marks:
            if mark in source:
                places.append((source.index(mark), paper))
    return min(places, key=lambda place: place[0])[1] if places else None
