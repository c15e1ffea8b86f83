"""The words of the model's answer in a query: no prompt, no special tokens, no thinking."""

from grader.extract.chat import Words, assistant_turns, opens_thinking, without_thinking
from grader.extract.source import Reader
from grader.extract.text import after_prompt, normalise


def response_of(query: str, prompt: str = "") -> Words:
    """Return what the model says in answer to the prompt.

    Args:
        query: A response, or a whole query that starts with the prompt or with its end.
        prompt: The text that the model was given.

    Returns:
        Its text, which is empty where it answers nothing but thoughts, and whether it ran out
        before a thinking section ended.
    """
    prompt, query, reader = normalise(prompt), normalise(query), Reader()
    rest = after_prompt(query, prompt)
    turns = assistant_turns(query if rest is None else rest, reader, answer_first=rest is not None)
    if not turns:
        return Words(text="", unfinished=False)
    words = without_thinking(turns[0], reader, opened=opens_thinking(prompt))
    return Words(text=words.text.strip(), unfinished=words.unfinished)


def raw_response(query: str, prompt: str = "") -> str:
    """Return all that the model wrote, thoughts and special tokens too."""
    rest = after_prompt(normalise(query), normalise(prompt))
    return normalise(query) if rest is None else rest
