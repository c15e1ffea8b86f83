import asyncio

import pytest

from grader.config.settings import Settings
from grader.model import PytestTests, SuiteFile
from grader.model.errors import LabelError, WireError
from grader.queueing.jobs import JobMaker, decode_suite
from grader.server.endpoints.labels import LabelReader
from grader.server.metrics import Metrics
from tests.factories import make_submission, make_suite


def test_suite_that_a_client_encoded_is_decoded_once() -> None:
    job = JobMaker(Settings()).make(make_submission())
    assert job is not None
    message = job.suite.message.decode()
    labels = LabelReader(None, Metrics())
    suite = asyncio.run(labels.decode(message))
    assert suite.tests == make_suite().tests
    assert asyncio.run(labels.decode(message)) is suite


@pytest.mark.parametrize("path", ["../a.py", "/etc/a.py", "a/../../b.py", "a\0b", "", "a//b"])
def test_files_of_an_encoded_suite_stay_in_their_folder(path: str) -> None:
    tests = PytestTests(files=(SuiteFile(path=path, content=b""),), test_paths=(path,))
    job = JobMaker(Settings()).make(make_submission(suite=make_suite(tests)))
    assert job is not None
    with pytest.raises(LabelError, match="stay inside its folder"):
        asyncio.run(LabelReader(None, Metrics()).decode(job.suite.message.decode()))
    with pytest.raises(LabelError, match="stay inside its folder"):
        decode_suite(job.suite.message)


@pytest.mark.parametrize("message", ["", "{}", '{"v": 99}', "\ud800", '{"v": 7, "submission": {}}'])
def test_malformed_message_is_refused(message: str) -> None:
    with pytest.raises(WireError):
        asyncio.run(LabelReader(None, Metrics()).decode(message))


@pytest.mark.parametrize(
    ("problem_id", "message"),
    [(None, "no label and no problem_id"), ("a", "no problem 'a': the service has no file")],
)
def test_request_without_tests_is_told_what_is_missing(
    problem_id: str | None, message: str
) -> None:
    with pytest.raises(LabelError, match=message):
        asyncio.run(LabelReader(None, Metrics()).read(None, problem_id, 10))
