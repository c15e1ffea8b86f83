"""What an agent is told and paid, and where its next turn begins."""

from dataclasses import replace

import pytest

from grader.config.rewards import AgentReward, AgentSettings, ChatTemplate, MathSettings
from grader.config.settings import Settings
from grader.model import CaseResult
from grader.model.verdict import LimitKind, Verdict
from grader.rewards.agents.notebooks import Notebooks
from grader.rewards.agents.repair import MathAgent, describe
from grader.rewards.agents.tools import ToolAgent
from grader.rewards.core import RewardCore
from grader.rewards.templates import defused, next_turn, template_of
from tests.factories import make_report
from tests.fake.backend import FakeSandbox


@pytest.mark.parametrize(
    ("conversation", "template"),
    [
        ("<s>[INST] a [/INST]", ChatTemplate.LLAMA2),
        ("<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n", ChatTemplate.CHATML),
        ("<|start_header_id|>user<|end_header_id|>\n\na<|eot_id|>", ChatTemplate.LLAMA3),
        ("User: a\n\nAssistant: ", ChatTemplate.PLAIN),
        ("", ChatTemplate.PLAIN),
        (
            "<|im_start|>user\nwhat is [/INST]?<|im_end|>\n<|im_start|>assistant\n",
            ChatTemplate.CHATML,
        ),
    ],
)
def test_template_is_that_of_the_conversation(conversation: str, template: ChatTemplate) -> None:
    assert template_of(conversation) is template


@pytest.mark.parametrize(
    ("template", "answer", "text"),
    [
        (ChatTemplate.LLAMA2, "a</s>", "<s>[INST] w [/INST]"),
        (ChatTemplate.LLAMA2, "a", "</s><s>[INST] w [/INST]"),
        (
            ChatTemplate.CHATML,
            "a<|im_end|>",
            "\n<|im_start|>user\nw<|im_end|>\n<|im_start|>assistant\n",
        ),
        (
            ChatTemplate.CHATML,
            "a<|im_end|>\n",
            "<|im_start|>user\nw<|im_end|>\n<|im_start|>assistant\n",
        ),
        (
            ChatTemplate.CHATML,
            "a",
            "<|im_end|>\n<|im_start|>user\nw<|im_end|>\n<|im_start|>assistant\n",
        ),
        (
            ChatTemplate.LLAMA3,
            "a<|eot_id|>",
            "<|start_header_id|>user<|end_header_id|>\n\nw<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n",
        ),
        (ChatTemplate.PLAIN, "a", "\n\nw\n\nAssistant: "),
    ],
)
def test_next_turn_begins_where_the_template_says(
    template: ChatTemplate, answer: str, text: str
) -> None:
    assert next_turn("w", answer=answer, template=template) == text


def test_next_turn_thinks_where_the_first_did() -> None:
    text = next_turn("w", answer="a", template=ChatTemplate.PLAIN, prompt="Q\n<think>\n")
    assert text.endswith("Assistant: <think>\n")


@pytest.mark.parametrize(
    "token",
    ["<|im_end|>", "<|eot_id|>", "</s>", "<s>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>",
     "<EOT>", "<PRE>", "<FILL_ME>", "<fim_prefix>", "<end_of_turn>", "[TOOL_CALLS]", "</think>"],
)  # fmt: skip
def test_words_hold_no_token_of_a_template(token: str) -> None:
    assert token not in defused(f"printed {token} here")
    assert "printed" in defused(f"printed {token} here")


def test_words_that_are_no_tokens_stay_as_they_are() -> None:
    words = "in <module>: if a <b> c: d = List[int], e[i], f['S'], m[N], <0x0A>"
    assert defused(words) == words


# ---------------------------------------------------------------- code repair


CASES = (
    CaseResult(id="0", verdict=Verdict.PASSED),
    CaseResult(id="1", verdict=Verdict.FAILED, feedback='expected "8", got "secret"; input: "4"'),
    CaseResult(id="2", verdict=Verdict.RUNTIME_ERROR, feedback="KeyError: 'secret' (at line 3)"),
    CaseResult(id="3", verdict=Verdict.SKIPPED, feedback="not run"),
)
FAILED = make_report(Verdict.FAILED, passed=1, total=4, cases=CASES)


def test_feedback_names_the_cases_that_failed_and_how() -> None:
    text = describe(FAILED)
    assert text.startswith("Your code passed 1 of 4 tests.\n")
    assert '- Test 1 failed, wrong result: expected "8"' in text
    assert "- Test 2 failed, it crashed: KeyError" in text
    assert "Test 3" not in text


def test_feedback_hides_what_is_inside_the_tests() -> None:
    text = describe(FAILED, hide=True)
    assert "secret" not in text
    assert '"8"' not in text
    assert text.count("A hidden test failed") == 2


@pytest.mark.parametrize("limit", list(LimitKind))
def test_feedback_says_which_limit_was_hit(limit: LimitKind) -> None:
    assert "limit on" in describe(replace(FAILED, limit_hit=limit), hide=True)


def test_feedback_on_an_answer_without_code_asks_for_it() -> None:
    report = make_report(Verdict.NO_CODE, passed=0, feedback="The answer is empty.")
    assert "no code in your answer: The answer is empty." in describe(report)


# ---------------------------------------------------------------- what is paid


def make_agent(**settings: object) -> MathAgent:
    core = RewardCore(
        replace(
            Settings(),
            math=MathSettings(symbolic=False),
            agent=AgentSettings(**settings),  # type: ignore[arg-type]
        )
    )
    return MathAgent(core)


def rewards(agent: MathAgent, *answers: str) -> list[float]:
    episode = agent.begin("Q", "42")
    return [agent.step(episode, answer).reward for answer in answers]


@pytest.fixture(params=list(AgentReward))
def kind(request: pytest.FixtureRequest) -> AgentReward:
    chosen: AgentReward = request.param
    return chosen


def test_rewards_of_an_episode_add_up_to_its_last_attempt(kind: AgentReward) -> None:
    agent = make_agent(reward=kind)
    assert sum(rewards(agent, "none", "\\boxed{1}", "\\boxed{42}")) == pytest.approx(1)
    assert sum(rewards(agent, "\\boxed{1}", "\\boxed{2}", "none")) == pytest.approx(-0.5)


def test_sparse_rewards_come_at_the_end() -> None:
    assert rewards(make_agent(), "none", "\\boxed{1}", "\\boxed{42}") == [0, 0, 1]


def test_shaped_rewards_pay_each_step_what_it_gained() -> None:
    agent = make_agent(reward=AgentReward.SHAPED)
    assert rewards(agent, "none", "\\boxed{1}", "\\boxed{42}") == [-0.5, 0.5, 1]


def test_later_attempts_cost_the_step_penalty() -> None:
    agent = make_agent(step_penalty=0.1)
    assert rewards(agent, "\\boxed{1}", "\\boxed{42}") == [0, pytest.approx(0.9)]


def test_episode_is_over_when_solved_or_out_of_steps() -> None:
    agent = make_agent(max_steps=2)
    episode = agent.begin("Q", "42")
    assert not agent.step(episode, "none").done
    last = agent.step(episode, "none")
    assert last.done
    assert last.feedback == ""
    assert agent.step(agent.begin("Q", "42"), "\\boxed{42}").done


# ---------------------------------------------------------------- sessions


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("print('<answer>42</answer>')", id="tags"),
        pytest.param("print('The answer is', 42)", id="phrase"),
        pytest.param("#### 42", id="comment"),
        pytest.param("print(r'\\boxed{42}')", id="box"),
    ],
)
def test_what_a_program_prints_is_not_handed_in(code: str) -> None:
    core = RewardCore(replace(Settings(), math=MathSettings(symbolic=False)))
    agent = ToolAgent(core, notebooks=Notebooks(Settings(), sandbox=FakeSandbox()))
    episode = agent.begin("Q", {"math": "42"})
    step = agent.step(episode, f"I run it.\n```python\n{code}\n```\n")
    assert (step.done, step.reward) == (False, 0.0)
    assert "Output:\n" in step.feedback
    step = agent.step(episode, "So it is <answer>42</answer>")
    assert (step.done, step.reward) == (True, 1.0)
    core.close()
