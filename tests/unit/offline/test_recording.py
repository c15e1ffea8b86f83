"""Recording: what is written outlives the process, is bounded, and is read as graded rows."""

import gzip
import json
import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.model import CaseResult
from grader.model.errors import ConfigurationError, InputError
from grader.model.verdict import Verdict
from grader.offline.recording import RecordedSample, SampleRecorder
from grader.report.index import GradedFile
from tests.factories import make_report

MANY = 1 << 30


def sample(number: int = 0, completion: str = "x = 1", **more: object) -> RecordedSample:
    values: dict[str, object] = {
        "id": f"p{number}",
        "prompt": "Write x.",
        "completion": completion,
        "report": make_report(),
        "at": 1000.0 + number,
    }
    return RecordedSample(**{**values, **more})  # type: ignore[arg-type]


def only_file(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


def test_recorded_rows_are_read_as_graded_rows(tmp_path: Path) -> None:
    with SampleRecorder(tmp_path / "new" / "run", MANY) as recorder:
        recorder.write([sample(1, step=40, dataset="mbpp", queue_s=0.25), sample(2)])
        recorder.write([sample(3, completion="\ud800é\n")])
    found = GradedFile(tmp_path / "new" / "run")
    first, second, third = found.entries
    assert (first.step, first.dataset, first.queue_s, first.at) == (40, "mbpp", 0.25, 1001.0)
    assert (second.step, second.dataset) == (None, "binary")
    assert [entry.problem for entry in found.entries] == ["p1", "p2", "p3"]
    assert found.read(third).completion == "\ufffdé\n"
    rows = gzip.decompress(only_file(tmp_path / "new" / "run").read_bytes()).splitlines()
    assert json.loads(rows[0])["prompt"] == "Write x."


def _record_for_ever(folder: Path, told: Connection) -> None:
    recorder = SampleRecorder(folder, MANY)
    for number in range(3):
        recorder.write([sample(number)])
    told.send(os.getpid())
    signal.pause()


def test_killed_process_loses_nothing_that_was_written(tmp_path: Path) -> None:
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(
        target=_record_for_ever, args=(tmp_path, there)
    )
    process.start()
    assert here.poll(20)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert len(GradedFile(tmp_path).entries) == 3
    with SampleRecorder(tmp_path, MANY) as recorder:  # The trainer is started again.
        recorder.write([sample(4)])
    assert len(list(tmp_path.iterdir())) == 2
    assert len(GradedFile(tmp_path).entries) == 4


def test_forked_process_leaves_its_parents_file_alone(tmp_path: Path) -> None:
    with SampleRecorder(tmp_path, MANY) as recorder:
        recorder.write([sample(1)])
        for number in (2, 3):
            child = os.fork()
            if child == 0:
                if number == 2:
                    recorder.write([sample(number)])
                recorder.close()
                os._exit(0)
            os.waitpid(child, 0)
        recorder.write([sample(4)])
    assert sorted(e.problem for e in GradedFile(tmp_path).entries) == ["p1", "p2", "p4"]
    assert len(list(tmp_path.iterdir())) == 2


@settings(max_examples=30, deadline=None)
@given(share=st.floats(0.01, 1), whole=st.booleans())
def test_file_that_ends_anywhere_is_read_up_to_there(
    tmp_path_factory: pytest.TempPathFactory, share: float, whole: bool
) -> None:
    folder = tmp_path_factory.mktemp("run")
    recorder = SampleRecorder(folder, MANY)
    ends = []
    for number in range(5):
        # The members of the file end after different numbers of rows.
        recorder.write([sample(number, completion=os.urandom(300_000).hex() if whole else "x")])
        ends.append(only_file(folder).stat().st_size)
    recorder.close()
    file = only_file(folder)
    size = max(1, int(share * ends[-1]))
    os.truncate(file, size)
    complete = sum(end <= size for end in ends)
    try:
        entries = GradedFile(folder).entries
    except InputError:
        entries = []
    # What was not flushed completely may be there as well, if its last bytes say nothing.
    assert complete <= len(entries) <= complete + 1
    assert [entry.problem for entry in entries] == [f"p{n}" for n in range(len(entries))]


def test_full_file_keeps_figures_first_and_then_ends(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cases = tuple(CaseResult(id=str(n), verdict=Verdict.PASSED) for n in range(20))
    with SampleRecorder(tmp_path, 20_000) as recorder:
        for number in range(2000):
            recorder.write([sample(number, os.urandom(500).hex(), report=make_report(cases=cases))])
    assert 19_000 < only_file(tmp_path).stat().st_size <= 20_000
    assert caplog.text.count("nothing more is recorded") == 1
    found = GradedFile(tmp_path)
    chars = [entry.completion_chars for entry in found.entries]
    assert sorted(chars, reverse=True) == chars
    assert (chars[0], chars[-1]) == (1000, 0)
    assert found.entries[-1].reward == 1.0
    assert len(found.entries) == len({entry.problem for entry in found.entries})


def test_long_texts_lose_their_middle(tmp_path: Path) -> None:
    with SampleRecorder(tmp_path, MANY) as recorder:
        recorder.write([sample(completion="a" * 100_000 + "b" * 100_000)])
    found = GradedFile(tmp_path)
    completion = found.read(found.entries[0]).completion
    assert len(completion) < 70_000
    assert completion.startswith("aaa")
    assert completion.endswith("bbb")
    assert "134464 characters left out" in completion


def test_folder_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match=r"record is .*file, where no file"):
        SampleRecorder(tmp_path / "file", MANY)


def test_failed_write_is_logged_once_and_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder, now = tmp_path / "run", [0.0]
    with SampleRecorder(folder, MANY, clock=lambda: now[0]) as recorder:
        folder.rmdir()
        recorder.write([sample(1)])
        folder.mkdir()
        now[0] = 59.0
        recorder.write([sample(2)])
        assert list(folder.iterdir()) == []
        now[0] = 61.0
        recorder.write([sample(3)])
    assert caplog.text.count("samples are not recorded") == 1
    assert [entry.problem for entry in GradedFile(folder).entries] == ["p3"]


def test_threads_record_whole_rows(tmp_path: Path) -> None:
    def record(recorder: SampleRecorder) -> None:
        for number in range(50):
            recorder.write([sample(number)])

    with SampleRecorder(tmp_path, MANY) as recorder:
        threads = [threading.Thread(target=record, args=(recorder,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(GradedFile(tmp_path).entries) == 400
