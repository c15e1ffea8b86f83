"""Java. The file of a public class must be called like it, and its class be named to run it."""

import re

from grader.languages.language import Language, Source, Words
from grader.model import MiB

_PUBLIC = re.compile(
    r"^[ \t]*public[ \t]+(?:(?:final|abstract|strictfp|sealed)[ \t]+)*"
    r"(?:class|interface|enum|record)[ \t]+(\w+)",
    re.MULTILINE,
)
_TOP_LEVEL = re.compile(
    r"^(?:(?:public|final|abstract|strictfp|sealed)[ \t]+)*"
    r"(?:class|interface|enum|record)[ \t]+(\w+)",
    re.MULTILINE,
)
_MAIN = re.compile(r"\bvoid\s+main\s*\(")
_PACKAGE = re.compile(r"^[ \t]*package[ \t]+([\w.]+)[ \t]*;", re.MULTILINE)


def prepare(code: str) -> Source:
    """Name the file as the public class, and find the class that has `main`."""
    public = _PUBLIC.search(code)
    main = _MAIN.search(code)
    before = _TOP_LEVEL.findall(code, 0, main.start() if main else len(code))
    # Of classes that are written from the margin on, the last one before `main` holds it.
    entry = before[-1] if before else public[1] if public else "Main"
    package = _PACKAGE.search(code)
    name = public[1] if public else entry
    return Source(
        path=f"{name}.java", code=code, entry=f"{package[1]}.{entry}" if package else entry
    )


LANGUAGES = (
    Language(
        name="java",
        title="Java",
        image="java",
        aliases=frozenset({"java8", "java11", "java17", "java21", "java 8", "java 11", "openjdk"}),
        packages={"javac": "default-jdk-headless", "java": "default-jdk-headless"},
        folders=("/etc/java-*",),
        source="Main.java",
        prepare=prepare,
        compile=(
            *("javac", "-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-J-XX:-UsePerfData"),
            *("-J-Xmx512m", "-J-XX:ActiveProcessorCount=2", "-encoding", "UTF-8", "-proc:none"),
            *("-nowarn", "-XDshould-stop.ifError=FLOW", "-d", "classes", "{source}"),
        ),
        run=(
            *("java", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-XX:ActiveProcessorCount=2"),
            *("-XX:ReservedCodeCacheSize=48m", "-XX:-UseContainerSupport", "-Xss64m"),
            *("-Xmx{memory_mib}m", "-Dfile.encoding=UTF-8", "-cp", "classes", "{entry}"),
        ),
        program=_MAIN,
        time_factor=2.0,
        start_up_s=0.5,
        runtime_memory_bytes=128 * MiB,
        compile_words=Words(
            message=re.compile(r"\.java:\d+: error: (?P<message>.+)"),
            line=re.compile(r"\.java:(?P<line>\d+): error: "),
        ),
        runtime_words=Words(
            message=re.compile(
                r"(?:^Exception in thread \"[^\"\n]*\"|^Error:) (?P<message>.+)", re.MULTILINE
            ),
            line=re.compile(r"^\s+at (?!java|jdk)[^\n(]*\(\w+\.java:(?P<line>\d+)\)", re.MULTILINE),
        ),
        out_of_memory=("java.lang.OutOfMemoryError",),
    ),
)
