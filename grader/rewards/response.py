"""Finding the model's response in a query, without prompt, special tokens and thoughts."""

from grader.extract.chat import Words, assistant_turns, opens_thinking, without_thinking
from grader.extract.source import SourceReader
from grader.extract.text import after_prompt, normalise


def response_of(query: str, prompt: str = "") -> Words:
    """Return the model's response to the prompt.

    Args:
        query: A response, or a whole query that begins with the prompt or with its end.
        prompt: The text that the model was given.

    Returns:
        The text of the response, which is empty if it consists of thoughts only, and whether it
        ended inside a thinking section.
    """
    prompt, query, reader = normalise(prompt), normalise(query), SourceReader()
    rest = after_prompt(query, prompt)
    turns = assistant_turns(query if rest is None else rest, reader, answer_first=rest is not None)
    if not turns:
        return Words(text="", unfinished=False)
    words = without_thinking(turns[0], reader, opened=opens_thinking(prompt))
    return Words(text=words.text.strip(), unfinished=words.unfinished)


def raw_response(query: str, prompt: str = "") -> str:
    """Return the whole output of the model, with thoughts and special tokens."""
    rest = after_prompt(normalise(query), normalise(prompt))
    return normalise(query) if rest is None else rest
