"""The page as text: complete, self-contained, the same every time."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pytest
from altair.utils import schemapi

from borgtrace.errors import EngineError
from borgtrace.question import Answer, Claim, EngineTables, Provenance
from borgtrace.question import Column as AnswerColumn
from borgtrace.question.criteria import equals
from borgtrace.question.scopes import EXACT
from borgtrace.report.charts import UndrawableError
from borgtrace.report.holdings import counters, holdings, trace_name
from borgtrace.report.page import javascript, report_html
from borgtrace.report.papers import papers_cited
from borgtrace.report.sections import grouped, observed, refused, section
from borgtrace.report.values import shown_table
from borgtrace.schema import TABLES, Column, Table

from . import questions_of_tests as questions
from .conftest import manifest

EXACT_2011 = replace(EXACT, traces=("2011",))


class _Elements(HTMLParser):
    """Collects what a page refers to and names."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if "id" in values:
            self.ids.append(values["id"])
        if tag == "a":
            self.links.append(values.get("href", ""))
        else:
            self.fetched += [
                values[name] for name in ("src", "href", "srcset", "data") if name in values
            ]


@pytest.fixture(scope="module")
def html(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def test_nothing_is_fetched(html: str) -> None:
    assert _Elements(html).fetched == ["data:,"]
    assert "url(" not in re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    assert "default-src 'none'" in html


def test_links_inside_the_page_have_targets_and_ids_are_unique(html: str) -> None:
    page = _Elements(html)
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)


def test_size(page: Path) -> None:
    assert page.stat().st_size < 3_000_000


def test_synthetic_is_said_aloud(html: str) -> None:
    assert "<strong>SYNTHETIC</strong>" in html
    assert "SYNTHETIC" not in report_html(manifest(), "store", [])


def test_text_is_escaped(html: str) -> None:
    assert "the trace has &lt;no&gt; usage &amp; is short" in html
    assert "<angle brackets>" not in html
    assert "&lt;angle brackets&gt;" in html
    assert "<em>one</em> for each shape of chart, with <code>code</code>" in html


def of_google() -> str:
    """The page of the test questions on rows of Google, with claims about the trace of 2011."""
    tables = EngineTables({}, Provenance("store", "ab" * 32))
    sections = []
    for question in questions.QUESTIONS:
        claims = [replace(claim, scope=EXACT_2011) for claim in question.claims]
        sections.append(section(replace(question, claims=claims).run(tables)))
    return report_html(manifest(), "store", sections)


def test_claims_are_counted_for_the_trace_that_they_were_published_of(html: str) -> None:
    # Two more cannot be judged: they are in no number of the headline.
    counted = of_google()
    assert "<strong>1 of 3 judged published claims holds</strong>" in counted
    assert "<summary>2 cannot be judged on this store</summary>" in counted
    assert "<small>5 questions; 1 of 3 judged published claims holds</small>" in counted
    assert '<span class="tally">' in counted
    assert "What does not hold here" in counted


def test_no_claims_are_counted_for_a_cell_that_nobody_published(html: str) -> None:
    """A synthetic cell, and claims about no trace in particular on rows of Google."""
    tables = EngineTables({}, Provenance("store", "ab" * 32))
    sections = [section(question.run(tables)) for question in questions.QUESTIONS]
    for page in (html, report_html(manifest(), "store", sections)):
        assert "judged published claims" not in page
        assert '<span class="tally">' not in page
        assert "What does not hold here" not in page
        assert '<a href="#claims">Published numbers beside those of this cell</a>' in page
        # They stand there all the same, folded.
        assert "<summary>Published: 1 holds</summary>" in page


def test_same_input_same_bytes(html: str) -> None:
    tables = EngineTables({}, Provenance("store", "ab" * 32))
    sections = [section(question.run(tables)) for question in questions.QUESTIONS]
    assert report_html(manifest(synthetic={"seed": 0}), "store", sections) == html


def test_refused_question_says_why() -> None:
    question = questions.QUESTIONS[0]
    html = report_html(
        manifest(), "store", [refused(question, EngineError("query", "memory <exhausted>"))]
    )
    assert "Not answered: query: memory &lt;exhausted&gt;" in html


def test_empty_store_makes_a_page() -> None:
    html = report_html(
        manifest(
            tables={},
            sources=(),
            time_range={},
        ),
        "store",
        [],
    )
    assert "All tables are empty." in html
    assert "No problem was found in any row." in html


def test_holdings_of_the_manifest() -> None:
    assert holdings(manifest()) == [
        # 4,200 s: an hour after the start of the trace.
        (TABLES["instance_events"], "1 of 500 files", "before the trace to 1 May 2011 20:00 EDT"),
        (TABLES["tasks"], "derived at ingest", ""),
    ]
    assert '<td class="n" data-label="Rows">450,140</td>' in report_html(manifest(), "store", [])


def test_counters_come_worst_first() -> None:
    assert [(table, reason.code, number) for table, reason, number in counters(manifest())] == [
        ("instance_events", "unparsable_value", 6),
        ("instance_events", "time_out_of_order", 2),
    ]
    html = report_html(manifest(), "store", [])
    assert (
        '<span class="severity data-loss">data loss</span></td><td class="n" data-label="Rows">6</td>'
        in html
    )
    assert "is expected. <em>Rejected.</em>" in html


def test_conservation() -> None:
    html = report_html(manifest(), "store", [])
    assert (
        "450,146 rows read: 450,140 stored, 6 rejected and kept in quarantine, 0 of other cells"
        in html
    )
    assert "Every row of every file is accounted for." in html
    lost = replace(manifest().sources[0], stored=450_139)
    html = report_html(manifest(sources=(lost,)), "store", [])
    assert "Some rows are not accounted for; run <code>borgtrace verify</code>." in html


@pytest.mark.parametrize(
    ("generation", "cell", "name"),
    [("2011", "", "Google cluster trace 2011"), ("2019", "c", "Google cluster trace 2019, cell c")],
)
def test_trace_name(generation: str, cell: str, name: str) -> None:
    assert trace_name(manifest(generation=generation, cell=cell)) == name
    synthetic = manifest(
        generation=generation,
        cell=cell,
        synthetic={"seed": 1},
    )
    assert trace_name(synthetic) == f"Synthetic cell in the format of {name}"


def test_papers_are_found_by_author() -> None:
    text = (
        "Zhu et al., Observation 7; Verma et al., section 5; Janus & Rzadca; Tirmazi et al., Fig. 2"
    )
    assert [paper.marks[0] for paper in papers_cited(text)] == ["Verma", "Janus", "Tirmazi", "Zhu"]
    assert papers_cited("") == []


def test_observations_stand_together_in_their_order() -> None:
    def judged(id_: str, source: str) -> Claim:
        return Claim(
            id_,
            statement=id_,
            source=source,
            measure=lambda answer: 1,
            criterion=equals(1),
        )

    claims = (
        judged("tenth", "Zhu et al., Observation 10"),
        judged("fig", "Zhu et al., Fig. 8"),
        judged("measure", "Zhu et al., Fig. 9 and Measure 1"),
        judged("ninth", "Zhu et al., Observation 9; others"),
        judged("other", "Reiss et al., Observation 1"),
    )
    question = replace(questions.QUESTIONS[0], claims=claims)
    answered = section(question.run(EngineTables({})))
    numbered = observed([answered])
    assert [(row.label, row.finding.id) for row in numbered] == [
        ("Observation 9", "ninth"),
        ("Observation 10", "tenth"),
        ("Measure 1", "measure"),
    ]
    html = report_html(manifest(), "store", [answered])
    assert 'href="#observations"' in html
    assert f'<small>Observation 9</small><br><a href="#{answered.anchor}">ninth</a>' in html


def test_questions_stand_under_their_heading() -> None:
    # Names of the catalog, which lists two of them below one heading, and one that it does not list.
    names = ("machine_removals", "jobs_per_owner", "machine_downtime", "my_own")
    sections = []
    for name in names:
        question = replace(questions.QUESTIONS[1], name=name, claims=())
        sections.append(section(question.run(EngineTables({}))))
    removals, owners, downtime, own = sections
    assert grouped(sections) == {
        "Machines": [removals, downtime],
        "Jobs and users": [owners],
        "Other questions": [own],
    }
    html = report_html(manifest(), "store", sections)
    assert '<h2 id="group-other-questions">Other questions</h2>' in html


def test_headings_of_a_table_are_words_and_its_method_names_the_columns(html: str) -> None:
    assert '<th scope="col" class="n" title="Number of tasks.">n</th>' in html
    assert (
        '<th scope="col" class="n" title="Hours since the trace began.">hour <small>h</small></th>'
        in html
    )
    assert "<dt><code>cpu</code></dt><dd>CPU used.</dd>" in html
    assert "<dt><code>hour</code> (h)</dt>" in html


def test_a_table_shows_the_columns_it_has_in_its_own_order() -> None:
    columns = (
        Column("n_jobs", "int64", "count", "Number of jobs."),
        Column("user", "string", "id", "Hash."),
    )
    shown = shown_table(
        pa.table({"user": ["x", "y"], "n_jobs": [30_000, None]}), Table("t", "row", (), columns), 2
    )
    assert [column.name for column in shown.columns] == ["user", "n_jobs"]
    assert shown.rows == (("x", "30,000"), ("y", "–"))


def test_groups_have_a_summary_and_what_does_not_apply_stands_once_by_reason(html: str) -> None:
    body, _, refusals = html.partition('<details class="part" id="not-applicable"')
    assert "<small>5 questions</small></summary>" in body
    assert "<li>the trace has &lt;no&gt; usage &amp; is short:" in refusals
    assert (
        '<li id="no-answer">How large is the queue, and which shapes can a chart have? <small><code>no_answer'
        in refusals
    )
    assert '<details class="question" id="no-answer"' not in html


def test_a_page_for_paper_is_light_everywhere_and_its_charts_have_a_width() -> None:
    html = report_html(
        manifest(),
        "store",
        [],
        theme="paper",
        width=500,
    )
    assert '<html lang="en" data-theme="paper" data-width="500">' in html
    assert '<meta name="color-scheme" content="light">' in html
    assert '<html lang="en">' in report_html(manifest(), "store", [])


def test_a_chart_is_drawn_without_being_checked() -> None:
    """Altair would check each row against its schema, several times."""
    modes = []

    def chart(answer: pa.Table) -> object:
        modes.append(schemapi.DEBUG_MODE)
        return questions.step_line(answer)

    question = replace(questions.QUESTIONS[1], chart=chart, claims=())
    assert section(question.run(EngineTables({}))).figure is not None
    assert modes == [False]
    assert schemapi.DEBUG_MODE is True


def test_a_chart_of_too_many_points_is_left_out_and_said_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise UndrawableError("9 points are too many to draw")

    monkeypatch.setattr("borgtrace.report.sections.figure", refuse)
    left_out = section(questions.QUESTIONS[1].run(EngineTables({})))
    assert left_out.figure is None
    assert left_out.note == "No chart: 9 points are too many to draw."


def test_an_answer_of_one_row_has_no_chart_and_an_open_table() -> None:
    question = replace(questions.QUESTIONS[0], compute=questions.answer(1), claims=())
    section_of_question = section(question.run(EngineTables({})))
    # Two series of one step each are two rows.
    assert section_of_question.figure is not None
    single = replace(question, compute=lambda tables: questions.rows(1).slice(0, 1))
    section_of_question = section(single.run(EngineTables({})))
    assert (section_of_question.figure, section_of_question.note) == (
        None,
        "The answer is one row, which a chart would show as one dot.",
    )
    assert "<details open>\n<summary>Table (1 row)</summary>" in report_html(
        manifest(), "store", [section_of_question]
    )


def test_codes_of_a_table_are_written_as_words() -> None:
    columns = (Column("measure", "string", "id", "A measure."),)
    table = pa.table({"measure": ["jobs_of_class_0", "resubmitted_after_EVICT", "K9_x", "all"]})
    shown = shown_table(table, Table("t", "row", (), columns), has_codes=True)
    assert [row[0] for row in shown.rows] == [
        "jobs of class 0",
        "resubmitted after EVICT",
        "K9_x",
        "all",
    ]


def test_the_first_job_of_a_table_leads_to_the_explorer() -> None:
    question = replace(
        questions.QUESTIONS[0],
        answer=Answer(
            grain="job",
            key=[AnswerColumn("collection_id", "int64", "id", "The job.")],
            columns=[],
        ),
        compute=lambda tables: pa.table({"collection_id": [7, 9]}),
        chart=lambda answer: None,
        claims=(),
    )
    html = report_html(manifest(), "cell-a", [section(question.run(EngineTables({})))])
    assert "<code>borgtrace explore cell-a --at /job/7</code>" in html


@pytest.mark.wide
def test_the_drawing_library_is_put_together_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert "vegaEmbed" in javascript.__wrapped__()
    [kept] = (tmp_path / "cache" / "borgtrace").iterdir()
    kept.write_text("vegaEmbed = '</script>';", encoding="utf-8")
    # It is read, and still made safe.
    assert javascript.__wrapped__() == "vegaEmbed = '<\\/script>';"
    # Where the cache cannot be written to, it is put together every time.
    monkeypatch.setenv("XDG_CACHE_HOME", str(kept))
    assert len(javascript.__wrapped__()) > 100_000
