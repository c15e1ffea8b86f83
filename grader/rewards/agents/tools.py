"""The tool agent: the model runs code in a session as often as needed, and hands in an answer.

A Python code block is run; `<answer>...</answer>` hands in an answer, and for math so does every
form that `grader.rewards.maths.answers` finds. The answer is graded by the label.
"""

import re

from grader.config.rewards import RewardTask
from grader.model.errors import GraderError
from grader.rewards.agents.episode import Agent, Attempt, Episode
from grader.rewards.agents.notebooks import Notebooks
from grader.rewards.core import RewardCore
from grader.rewards.maths.answers import find_answer, without_code
from grader.rewards.response import response_of
from grader.rewards.sample import Rating, Sample, ungraded
from grader.suites.plans import GradingPlan, plan_for
from grader.text.inert import inert

_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL | re.IGNORECASE)
_BLOCK = re.compile(
    r"^[ \t]*```(?:python|py)?[ \t]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE
)
_HOW = (
    "Run code by writing it in one Python code block, or hand in your final answer between"
    " <answer> and </answer>."
)
_NOTHING_YET = Rating(reward=0.0, score=0.0, graded=True)


class ToolAgent(Agent):
    """Lets the model run code, and grades what it hands in."""

    def __init__(self, core: RewardCore, *, notebooks: Notebooks | None = None) -> None:
        """Start nothing yet.

        Args:
            core: Grades.
            notebooks: Run code; None for some of the core's settings.
        """
        super().__init__(core)
        self._notebooks = notebooks or Notebooks(core.settings)
        core.on_close(self._notebooks.close)

    def _attempt(self, episode: Episode, sample: Sample, deadline: float) -> Attempt:  # noqa: ARG002
        try:
            plan = plan_for(episode.label, self._core.settings.task)
        except GraderError as error:
            rating = ungraded(str(error), self._core.settings.reward)
            return Attempt(rating=rating, solved=False, words="")
        text = response_of(sample.query, sample.prompt).text
        answer = _handed_in(text, plan)
        if answer is not None or episode.steps >= self._settings.max_steps:
            return self._grade(episode, answer or "")
        blocks = _BLOCK.findall(text)
        if not blocks:
            return Attempt(rating=_NOTHING_YET, solved=False, words=_HOW)
        return self._run(episode, blocks[-1])

    def _grade(self, episode: Episode, answer: str) -> Attempt:
        (rating,) = self._core.rate([Sample(query=answer, label=episode.label)])
        return Attempt(
            rating=rating, solved=rating.graded and rating.score == 1, words="", over=True
        )

    def _run(self, episode: Episode, code: str) -> Attempt:
        try:
            outcome = self._notebooks.run(episode.notebook, code)
        except GraderError as error:
            reason = f"{type(error).__name__}: {error}"
            rating = ungraded(reason, self._core.settings.reward)
            return Attempt(rating=rating, solved=False, words="")
        lost = "" if outcome.lives else "\nNothing of this code was kept."
        lines = "\n".join(inert(line, 500) for line in outcome.text.splitlines())
        return Attempt(rating=_NOTHING_YET, solved=False, words=f"Output:\n{lines}{lost}\n{_HOW}")


def _handed_in(text: str, plan: GradingPlan) -> str | None:
    """Return the answer that a response hands in, as its grader reads it; None if it has none."""
    is_math = plan.parts[0].task is RewardTask.MATH
    code = [match.span() for match in _BLOCK.finditer(text)]
    found = [
        match[1]
        for match in _ANSWER.finditer(text)
        # An answer inside code is only printed, not handed in.
        if not any(start < match.start() < end for start, end in code)
    ]
    if found:
        content = found[-1].strip()
        return f"\\boxed{{{content}}}" if is_math and not find_answer(content).text else content
    prose = without_code(text)
    return prose if is_math and find_answer(prose).text else None
