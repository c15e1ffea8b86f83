"""A small submission that every grader passes if it works."""

from grader.model import CallCase, CallTests, Submission, TestSuite
from grader.model.overrides import ExtractionRule


def make_probe(image: str = "python") -> Submission:
    """Return the submission, for a slot of an image variant for Python."""
    return Submission(
        id="probe",
        completion="def answer():\n    return 42\n",
        suite=TestSuite(
            tests=CallTests(entry_point="answer", cases=(CallCase(id="0", expected=42),)),
            format="probe",
            image=image,
            extraction=ExtractionRule.VERBATIM,
        ),
    )
