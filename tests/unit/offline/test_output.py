import errno
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.model.errors import ConfigurationError
from grader.offline.output import STDOUT, Output, OutputError, write_whole


def test_lines_are_there_as_soon_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with Output(path) as output:
        output.write(b"one\n")
        assert path.read_bytes() == b"one\n"
        output.write(b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"


def test_file_that_is_there_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"mine\n")
    with pytest.raises(ConfigurationError, match=r"--resume.*--force"):
        Output(path)
    assert path.read_bytes() == b"mine\n"


def test_empty_file_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.touch()
    Output(path).close()


def test_unused_file_is_removed_once_and_never_the_file_of_another_run(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with Output(path) as output:
        output.remove_if_unused()
        assert not path.exists()
        path.touch()
    assert path.exists()


@pytest.mark.parametrize("name", ["out.parquet", "out.jsonl.gz", "out.csv"])
def test_name_that_promises_another_format_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"plain JSONL.*\.jsonl"):
        Output(tmp_path / name)
    assert not (tmp_path / name).exists()


def test_force_replaces(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old\n")
    with Output(path, force=True) as output:
        assert path.read_bytes() == b"old\n"
        output.write(b"new\n")
        output.write(b"newer\n")
    assert path.read_bytes() == b"new\nnewer\n"


def test_forced_run_that_writes_nothing_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old\n")
    Output(path, force=True).close()
    assert path.read_bytes() == b"old\n"


@pytest.mark.parametrize(
    ("left", "kept"),
    [
        pytest.param(b"one\ntwo\n", b"one\ntwo\n", id="whole"),
        pytest.param(b"one\ntw", b"one\n", id="partial line"),
        pytest.param(b"on", b"", id="partial first line"),
        pytest.param(b"", b"", id="empty"),
        pytest.param(b"one\n" + b"x" * 200_000, b"one\n", id="partial line of many blocks"),
        pytest.param(b"one\n" + b"\0" * 100, b"one\n", id="zeros after a power cut"),
    ],
)
def test_resume_cuts_off_a_partial_line(tmp_path: Path, left: bytes, kept: bytes) -> None:
    path = tmp_path / "out"
    path.write_bytes(left)
    with Output(path, resume=True) as output:
        output.write(b"next\n")
    assert path.read_bytes() == kept + b"next\n"


def test_two_runs_cannot_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with Output(path), pytest.raises(ConfigurationError, match="another run"):
        Output(path, resume=True)
    Output(path, resume=True).close()


def test_device_is_written_without_asking() -> None:
    with Output(Path("/dev/null")) as first, Output(Path("/dev/null")) as second:
        first.write(b"x\n")
        second.write(b"x\n")


def test_standard_output_is_written(capfd: pytest.CaptureFixture[str]) -> None:
    with Output(STDOUT) as output:
        output.write(b"row\n")
    assert capfd.readouterr().out == "row\n"


def test_missing_folder_is_a_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="No such file or directory"):
        Output(tmp_path / "absent" / "out")


def test_line_that_does_not_fit_leaves_nothing_behind(tmp_path: Path) -> None:
    """A limit on the size of files stands in for a full disk: part of the write succeeds."""
    path = tmp_path / "out"
    program = """
        import resource, signal, sys
        from pathlib import Path
        from grader.offline.output import Output, OutputError
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (6, 6))
        with Output(Path(sys.argv[1])) as output:
            output.write(b"one\\n")
            try:
                output.write(b"too long\\n")
            except OutputError:
                print("did not fit")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(path)], capture_output=True, text=True
    )
    assert done.stdout == "did not fit\n", done.stderr
    assert path.read_bytes() == b"one\n"


@pytest.mark.parametrize("before", [{}, {"page.html": b"old"}])
def test_page_that_cannot_be_written_leaves_what_was_there(
    tmp_path: Path, before: dict[str, bytes]
) -> None:
    def until_the_disk_is_full() -> Iterator[bytes]:
        yield b"part"
        raise OSError(errno.ENOSPC, "No space left on device")

    for name, content in before.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(OutputError, match=r"cannot write .*page.html: No space left"):
        write_whole(tmp_path / "page.html", until_the_disk_is_full())
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_page_goes_where_its_name_leads(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "link.html").symlink_to("page.html")
    write_whole(tmp_path / "link.html", [b"one", b"two"])
    assert (tmp_path / "page.html").read_bytes() == b"onetwo"
    assert (tmp_path / "link.html").is_symlink()
    write_whole(Path("/dev/stdout"), [b"three"])
    assert capfdbinary.readouterr().out == b"three"
    with pytest.raises(ConfigurationError, match=r"cannot write .*: No such file or directory"):
        write_whole(tmp_path / "nowhere" / "page.html", [])


def test_nothing_is_left_of_an_output_without_rows(tmp_path: Path) -> None:
    Output(tmp_path / "out").close()
    assert list(tmp_path.iterdir()) == []
