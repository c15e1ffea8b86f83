"""The agents that tell the model what is wrong with its code or answer, and let it try again."""

from grader.config.rewards import RewardTask
from grader.model import CaseResult, GradeReport
from grader.model.errors import GraderError
from grader.model.verdict import LimitKind, Verdict
from grader.rewards.agents.episode import Agent, Attempt, Episode
from grader.rewards.sample import Sample, ungraded
from grader.suites.plans import plan_for
from grader.text.inert import inert

_SHOWN_CASES = 3
_SHOWN_CHARS = 500
_AGAIN = "Find the mistake, then answer with the whole corrected code in one code block."
_ANSWER_AGAIN = "Think step by step and give the final answer once more, as \\boxed{...}."

_WORDS = {
    Verdict.FAILED: "wrong result",
    Verdict.RUNTIME_ERROR: "it crashed",
    Verdict.TIME_LIMIT: "it took too long",
    Verdict.MEMORY_LIMIT: "it used too much memory",
    Verdict.OUTPUT_LIMIT: "it printed too much",
    Verdict.COMPILE_ERROR: "it does not compile",
    Verdict.TAMPERED: "it interfered with its tests",
}


class MathAgent(Agent):
    """Grades each attempt by the answer in its label, without revealing it."""

    def _attempt(self, episode: Episode, sample: Sample, deadline: float) -> Attempt:  # noqa: ARG002
        (rating,) = self._core.rate([sample], task=RewardTask.MATH)
        if rating.answer is None:
            words = f"No final answer was found in what you wrote. {_ANSWER_AGAIN}"
        else:
            words = f"{inert(rating.answer, 100)} is not the right answer. {_ANSWER_AGAIN}"
        return Attempt(rating=rating, solved=rating.graded and rating.score == 1, words=words)


class RepairAgent(Agent):
    """Grades each attempt by the tests of its label."""

    def _attempt(self, episode: Episode, sample: Sample, deadline: float) -> Attempt:
        label = episode.label
        try:
            plan = plan_for(label, RewardTask.CODE)
        except GraderError as error:
            rating = ungraded(str(error), self._core.settings.reward)
            return Attempt(rating=rating, solved=False, words="")
        tests = next((part.label for part in plan.parts if part.task is RewardTask.CODE), label)
        (rating,) = self._core.code.rate([sample], [tests], deadline)
        self._core.record([sample], [rating], [plan])
        report = rating.report
        return Attempt(
            rating=rating,
            solved=report is not None and report.verdict is Verdict.PASSED,
            words="" if report is None else describe(report, hide=self._settings.hide_cases),
        )


def describe(report: GradeReport, *, hide: bool = False) -> str:
    """Return the feedback for code that did not pass.

    Args:
        report: The report of the code.
        hide: Whether to hide the tests: their inputs, expected values, and messages, into which
            the code could have put an input.
    """
    if report.verdict is Verdict.NO_CODE:
        return f"There is no code in your answer: {report.feedback}\n{_AGAIN}"
    if report.verdict is Verdict.COMPILE_ERROR:
        return f"Your code was not run: {report.feedback}\n{_AGAIN}"
    lines = [f"Your code passed {report.passed} of {report.total} tests."]
    lost = [case for case in report.cases if case.verdict not in (Verdict.PASSED, Verdict.SKIPPED)]
    lines += [_line(case, hide=hide) for case in lost[:_SHOWN_CASES]]
    if len(lost) > _SHOWN_CASES:
        lines.append(f"{len(lost) - _SHOWN_CASES} more tests failed.")
    if report.limit_hit is not None:
        lines.append(_limit_words(report.limit_hit))
    return "\n".join([*lines, _AGAIN])


def _line(case: CaseResult, *, hide: bool) -> str:
    words = _WORDS.get(case.verdict, str(case.verdict))
    if hide:
        return f"- A hidden test failed: {words}."
    return f"- Test {inert(case.id, 60)} failed, {words}: {inert(case.feedback, _SHOWN_CHARS)}"


def _limit_words(limit: LimitKind) -> str:
    match limit:
        case LimitKind.CPU_TIME:
            return "The limit on CPU time was hit: the algorithm is too slow, or a loop never ends."
        case LimitKind.WALL_TIME:
            return "The limit on time was hit: the code waits for something, or never ends."
        case LimitKind.TOTAL_TIME:
            return "The limit on the time of all tests together was hit: the code is too slow."
        case LimitKind.MEMORY:
            return "The limit on memory was hit."
        case LimitKind.OUTPUT:
            return "The limit on output was hit: print only what is asked for."
        case LimitKind.PROCESSES:
            return "The limit on processes was hit: start none."
