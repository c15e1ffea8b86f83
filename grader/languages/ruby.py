"""Ruby."""

import re

from grader.languages.language import ErrorWords, Language, ValueDriver


def show(values: ValueDriver) -> str:
    """Show what expressions are worth as Ruby itself writes values."""
    lines = [values.code, values.setup]
    lines += [
        f'puts "", "{values.mark} {number} #{{({expression}).inspect}}"'
        for number, expression in enumerate(values.expressions)
    ]
    return "\n".join(lines)


LANGUAGES = (
    Language(
        name="ruby",
        title="Ruby",
        image="ruby",
        aliases=frozenset({"rb"}),
        packages={"ruby": "ruby"},
        folders=("/usr/share/ruby*", "/usr/share/rubygems-integration", "/var/lib/gems"),
        source="solution.rb",
        compile=("ruby", "-c", "{source}"),
        run=("ruby", "{source}"),
        environment={"RUBY_THREAD_VM_STACK_SIZE": "50331648"},
        time_factor=3.0,
        start_up_s=0.1,
        show=show,
        compile_words=ErrorWords(
            message=re.compile(r"solution\.rb:\d+: (?P<message>.+)"),
            line=re.compile(r"solution\.rb:(?P<line>\d+): "),
        ),
        runtime_words=ErrorWords(
            message=re.compile(r"solution\.rb:\d+:in .{1,200}?: (?P<message>.+)"),
            line=re.compile(r"solution\.rb:(?P<line>\d+)"),
        ),
        out_of_memory=("(NoMemoryError)",),
    ),
)
