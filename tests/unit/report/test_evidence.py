"""Evidence shows both ends of a text, and never more than a report has room for."""

from grader.judging.evidence import REPORT_CHARS, TEXT_CHARS, evidence, fit, shortened
from grader.model import CaseResult, Evidence
from grader.model.verdict import Verdict


def test_shortened_keeps_start_and_end() -> None:
    text, was_cut = shortened("a" * 5000 + "z" * 5000)
    assert was_cut
    assert text.startswith("a" * 100)
    assert text.endswith("z" * 100)
    assert "8,000 characters left out" in text
    assert len(text) < TEXT_CHARS + 50


def test_short_text_is_not_shortened() -> None:
    assert shortened("x" * TEXT_CHARS) == ("x" * TEXT_CHARS, False)
    assert shortened(b"\xff ok") == ("\N{REPLACEMENT CHARACTER} ok", False)


def test_evidence_names_the_length_that_was_cut() -> None:
    found = evidence(input="x" * 9000, got=b"1", expected=None)
    assert found.cut == ("input",)
    assert found.got == "1"
    assert found.expected is None


def test_fit_gives_the_room_to_cases_that_did_not_pass() -> None:
    text = "x" * 1500
    cases = tuple(
        CaseResult(
            id=str(n),
            verdict=Verdict.PASSED if n < 10 else Verdict.FAILED,
            evidence=Evidence(input=text),
        )
        for n in range(20)
    )
    kept = [case.id for case in fit(cases) if case.evidence is not None]
    assert len(kept) == REPORT_CHARS // 1500
    assert kept == [str(n) for n in range(10, 20)]
