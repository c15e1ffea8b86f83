"""The endpoints for trainers, called by the trainers' own clients if these are available."""

import asyncio
import base64
import json
import os
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from grader import languages
from tests import openrlhf_client, verl_client
from tests.compilers import need
from tests.conftest import REPO, missing
from tests.deployment import wait_until
from tests.serving import ASSERTS, BAD, GOOD, Service, serving, sleeper

pytestmark = [pytest.mark.usefixtures("native_sandbox"), pytest.mark.timeout(90)]

TOKEN = "secret/+=token"  # noqa: S105
LABEL = json.dumps(ASSERTS)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("service")) as running:
        yield running


@pytest.fixture
def verl() -> ModuleType:
    return verl_client.load_client()


# ---------------------------------------------------------------- OpenRLHF


def get_reward(service: Service, query: list[str], labels: list[Any] | None = None) -> Any:
    prompts = ["" for _ in query]
    labels = [LABEL for _ in query] if labels is None else labels
    body = {"query": query, "prompts": prompts, "labels": labels}
    response = service.post("/get_reward?logs=1", body)
    assert response.status_code == 200, response.text
    return response.json()


def test_rewards_come_in_lists_of_the_length_of_the_queries(service: Service) -> None:
    answer = get_reward(service, [GOOD, BAD, "no code"])
    assert list(answer) == ["rewards", "scores", "extra_logs"]
    assert answer["rewards"] == [1.0, 0.3, -1.0]
    assert answer["scores"] == [1.0, 0.0, 0.0]
    assert answer["extra_logs"]["graded"] == [1.0, 1.0, 1.0]
    assert {len(values) for values in answer["extra_logs"].values()} == {3}
    assert all(isinstance(v, float) for values in answer["extra_logs"].values() for v in values)


def test_empty_batch_gets_empty_lists(service: Service) -> None:
    answer = get_reward(service, [])
    assert (answer["rewards"], answer["scores"]) == ([], [])
    assert answer["extra_logs"].keys() == get_reward(service, [GOOD])["extra_logs"].keys()
    assert set(map(tuple, answer["extra_logs"].values())) == {()}


@pytest.mark.parametrize("label", [None, "", True, "{", {"what": 1}, [[]], "no tests"])
def test_label_that_says_nothing_gets_the_neutral_reward(service: Service, label: object) -> None:
    answer = get_reward(service, [GOOD], [label])
    assert (answer["rewards"], answer["scores"]) == ([0.0], [0.0])
    assert answer["extra_logs"]["graded"] == [0.0]
    assert answer["extra_logs"].keys() == get_reward(service, [GOOD])["extra_logs"].keys()


def test_lists_of_other_lengths_are_refused(service: Service) -> None:
    body = {"query": [GOOD, BAD], "prompts": ["", ""], "labels": [LABEL]}
    response = service.post("/get_reward", body)
    assert (response.status_code, response.json()["detail"]) == (
        422,
        "body.labels has 1 items; expected 2, as many as body.query",
    )


def test_reward_without_a_turn_by_the_deadline_is_neutral(tmp_path: Path) -> None:
    with serving(tmp_path, slots=1, server__reward_deadline_s=2) as service:
        answer = get_reward(service, [sleeper(1.5)] * 6)
        assert len(answer["rewards"]) == 6
        assert answer["extra_logs"]["graded"][-1] == 0.0
        # The slot is free again. This request has no such deadline, which may be too short for a
        # busy machine.
        assert service.grade()["verdict"] == "passed"


def test_openrlhf_itself_gets_its_rewards(service: Service) -> None:
    with openrlhf_client.client("0.11.2") as load:
        executor = load("openrlhf.utils.agent").SingleTurnAgentExecutor
        url = f"{service.url}/get_reward"
        me = SimpleNamespace(reward_endpoints=[url], _reward_endpoint_cycle=iter([url] * 40))

        async def fetch() -> list[Any]:
            calls = [
                executor._fetch_rewards_via_http(me, [query], [""], [LABEL])
                for query in [GOOD, BAD] * 20
            ]
            return await asyncio.gather(*calls)

        answers = [answer for (answer,) in asyncio.run(fetch())]
    assert [answer["rewards"] for answer in answers] == [[1.0], [0.3]] * 20
    assert len({tuple(answer["extra_logs"]) for answer in answers}) == 1


# ---------------------------------------------------------------- SandboxFusion, for verl

VERL_TABLE = [
    pytest.param("print(int(input()) * 2)", {}, True, id="right"),
    pytest.param("print(int(input()) * 3)", {}, False, id="wrong"),
    pytest.param("print(1 / 0)", {}, -2, id="exception"),
    pytest.param("import os; os._exit(3)", {}, -2, id="exit code"),
    pytest.param("import os; os.kill(os.getpid(), 11)", {}, -2, id="signal"),
    pytest.param("x = bytearray(10**10)", {}, -2, id="memory"),
    pytest.param("while True: pass", {"timeout": 1}, -3, id="busy"),
    pytest.param("import time; time.sleep(60)", {"timeout": 1}, -3, id="asleep"),
    pytest.param("print(int(input()", {}, -4, id="does not compile"),
    pytest.param("println(42)", {"language": "julia"}, -1, id="language that is not there"),
    pytest.param("print(1)", {"memory_limit_mb": 10**6}, -1, id="more memory than there is"),
]


@pytest.mark.parametrize(("code", "options", "verdict"), VERL_TABLE)
def test_verl_itself_sees_the_verdict(
    service: Service, verl: ModuleType, code: str, options: dict[str, Any], verdict: object
) -> None:
    check = sys_module(verl).check_correctness
    results, details = check(
        sandbox_fusion_url=f"{service.url}/run_code",
        in_outs={"inputs": ["21"], "outputs": ["42"]},
        generation=code,
        **options,
    )
    assert results == [verdict], details
    assert details[0]["api_request_error"] is None


def sys_module(client: ModuleType) -> ModuleType:
    return sys.modules[f"{client.__name__}.utils"]


@pytest.mark.trainer("verl", verl_client.VERSION, "run_code", "")
def test_verl_itself_scores(service: Service, verl: ModuleType) -> None:
    def score(completion: str, tests: object) -> float:
        url = f"{service.url}/run_code"
        found: float = verl.compute_score(url, None, 1024, completion, tests)[0]
        return found

    doubling = json.dumps({"inputs": ["1", "2", "3"], "outputs": ["2", "4", "6\n"]})
    named = {"inputs": ["1\n2", "[1]\n[2]"], "outputs": ["3", "[1, 2]"], "fn_name": "add"}
    assert score("```python\nprint(int(input()) * 2)\n```", doubling) == 1.0
    assert score("```python\nprint(4)\n```", doubling) == pytest.approx(1 / 3)
    assert score(GOOD, named) == 1.0
    assert score(GOOD, {"assert_case": ASSERTS}) == 1.0
    assert score(BAD, {"assert_case": ASSERTS}) == 0.5


def test_verl_itself_shows_a_token_in_the_address(tmp_path: Path, verl: ModuleType) -> None:
    with serving(tmp_path, token=TOKEN) as service:
        quoted = quote(TOKEN, safe="")
        for user, verdict in ((f"any:{quoted}@", True), ("", -1)):
            results, _ = sys_module(verl).check_correctness(
                sandbox_fusion_url=f"http://{user}127.0.0.1:{service.port}/run_code",
                in_outs={"inputs": [None], "outputs": ["1"]},
                generation="print(1)",
            )
            assert results == [verdict]


def test_answer_has_every_field_of_sandboxfusion(service: Service) -> None:
    answer = service.run_code("print(input())", stdin="hello\n")
    assert list(answer) == [
        "status",
        "message",
        "compile_result",
        "run_result",
        "executor_pod_name",
        "files",
    ]
    step = answer.pop("run_result")
    assert answer == {
        "status": "Success",
        "message": "",
        "compile_result": None,
        "executor_pod_name": None,
        "files": {},
    }
    assert 0 < step.pop("execution_time") < 10
    assert step == {"status": "Finished", "return_code": 0, "stdout": "hello\n", "stderr": ""}


def test_ping_is_answered_as_json(service: Service) -> None:
    response = service.get("/v1/ping")
    assert (response.status_code, response.content) == (200, b'"pong"')


def test_another_language_is_said_plainly(service: Service) -> None:
    answer = service.run_code("+++.", language="brainfuck")
    assert answer["status"] == "SandboxError"
    expected = "the language 'brainfuck' is not graded; expected one of python, bash, c"
    assert answer["message"].startswith(expected)


SUM = "#include <iostream>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b; }"


@pytest.fixture
def compiler() -> None:
    if lacking := languages.missing([languages.languages()["cpp"]]):
        missing("C++", f"there is no {', '.join(lacking)}")


@pytest.mark.usefixtures("compiler")
def test_program_in_another_language_is_compiled_and_run(service: Service) -> None:
    answer = service.run_code(SUM, language="cpp", stdin="3 4")
    assert answer["status"] == "Success"
    for result, stdout in (("compile_result", ""), ("run_result", "7")):
        step = answer[result]
        assert (step["status"], step["return_code"], step["stdout"]) == ("Finished", 0, stdout)
    failed = service.run_code("int main() { return 3; }", language="cpp")
    assert (failed["compile_result"]["return_code"], failed["run_result"]["return_code"]) == (0, 3)


@pytest.mark.parametrize("name", languages.languages())
def test_program_in_every_language_is_run(service: Service, name: str) -> None:
    need(name)
    programs = tomllib.loads((REPO / f"tests/languages/{name}.toml").read_text())
    table = "CREATE TABLE numbers (a, b);\nINSERT INTO numbers VALUES (3, 4);\n"
    stdin = table if name == "sql" else "3 4\n"
    answer = service.run_code(programs["right"]["code"], language=name, stdin=stdin)
    assert answer["status"] == "Success", answer
    assert answer["run_result"]["stdout"].split() == ["7"]


@pytest.mark.usefixtures("compiler")
def test_program_that_does_not_compile_comes_back_with_the_compilers_words(
    service: Service,
) -> None:
    answer = service.run_code("int main() { return missing; }", language="C++")
    assert (answer["status"], answer["run_result"]) == ("Failed", None)
    step = answer["compile_result"]
    assert (step["status"], step["return_code"]) == ("Finished", 1)
    assert "'missing' was not declared" in step["stderr"].replace("\u2018", "'").replace(
        "\u2019", "'"
    )


@pytest.mark.usefixtures("compiler")
def test_program_that_compiles_for_too_long_is_out_of_time(service: Service) -> None:
    code = "#include <bits/stdc++.h>\n" + SUM
    answer = service.run_code(code, language="cpp", compile_timeout=0.2)
    assert (answer["status"], answer["run_result"]) == ("Failed", None)
    assert answer["compile_result"]["status"] == "TimeLimitExceeded"


@pytest.mark.usefixtures("compiler")
def test_files_lie_beside_a_program_in_another_language(service: Service) -> None:
    code = '#include <iostream>\n#include "answer.h"\nint main() { std::cout << ANSWER; }'
    header = base64.b64encode(b"#define ANSWER 42\n").decode()
    answer = service.run_code(code, language="cpp", files={"answer.h": header})
    assert answer["run_result"]["stdout"] == "42"
    taken = service.run_code(code, language="cpp", files={"solution.cpp": header})
    assert taken["status"] == "SandboxError"
    assert "the name of the program itself" in taken["message"]


@pytest.mark.parametrize("wanted", [[], ["out/result.bin"]])
def test_output_past_160_thousand_characters_is_kept(service: Service, wanted: list[str]) -> None:
    code = "import sys\nsys.stdout.write('é' * 400_000)\nsys.stderr.write('e' * 900_000)"
    answer = service.run_code(code, fetch_files=wanted)
    assert answer["status"] == "Success"
    assert answer["run_result"]["stdout"] == "é" * 400_000
    assert answer["run_result"]["stderr"] == "e" * 900_000
    assert answer["message"] == ""


@pytest.mark.parametrize("wanted", [[], ["out/result.bin"]])
def test_output_past_the_limit_is_cut_and_said(service: Service, wanted: list[str]) -> None:
    answer = service.run_code("print('x' * 2_000_000)", fetch_files=wanted)
    assert len(answer["run_result"]["stdout"]) == 1024 * 1024
    assert answer["message"] == f"{2_000_001 - 1024 * 1024} bytes of output were dropped"


def test_memory_past_the_limit_is_neither_had_nor_swapped(service: Service) -> None:
    code = "import os\nos.fork()\nblocks = []\nwhile True: blocks.append(bytes(b'x' * 2**24))"
    answer = service.run_code(code, memory_limit_MB=256)
    assert (answer["status"], answer["run_result"]["status"]) == ("Failed", "Finished")
    assert answer["run_result"]["return_code"] != 0
    assert service.run_code("print(1)")["status"] == "Success"


def test_files_go_in_and_come_out(service: Service) -> None:
    content = bytes(range(256))
    code = """
import pathlib
data = pathlib.Path("in/data.bin").read_bytes()
pathlib.Path("out").mkdir()
pathlib.Path("out/result.bin").write_bytes(data[::-1])
print(len(data), input())
raise SystemExit(4)
"""
    answer = service.run_code(
        code,
        stdin="given",
        files={"in/data.bin": base64.b64encode(content).decode(), "none": None},
        fetch_files=["out/result.bin", "missing", "out"],
    )
    assert answer["run_result"]["stdout"] == "256 given\n"
    assert (answer["status"], answer["run_result"]["return_code"]) == ("Failed", 4)
    assert {path: base64.b64decode(text) for path, text in answer["files"].items()} == {
        "out/result.bin": content[::-1]
    }


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param("import os; os._exit(7)", ("Failed", "Finished", 7), id="exit"),
        pytest.param("import os; os.kill(os.getpid(), 9)", ("Failed", "Finished", -9), id="killed"),
        pytest.param("raise ValueError(1)", ("Failed", "Finished", 1), id="exception"),
        pytest.param(
            "import time; time.sleep(60)", ("Failed", "TimeLimitExceeded", None), id="asleep"
        ),
    ],
)
def test_ending_is_the_same_whether_files_are_fetched_or_not(
    service: Service, code: str, expected: tuple[str, str, int | None]
) -> None:
    for wanted in ([], ["a"]):
        answer = service.run_code(code, fetch_files=wanted, run_timeout=1.5)
        step = answer["run_result"]
        assert (answer["status"], step["status"], step["return_code"]) == expected


def test_program_looks_the_same_whether_files_are_fetched_or_not(service: Service) -> None:
    code = """
import os, sys
print(__name__, __file__, sys.argv, sorted(os.listdir(".")), os.getcwd(), sys.stdin.read())
import __main__
print(__main__.code_word)
raise KeyError("at the end")
"""
    code = f"code_word = 'found'\n{code}"
    plain = service.run_code(code, stdin="in")["run_result"]
    fetched = service.run_code(code, stdin="in", fetch_files=["a"])["run_result"]
    for step in (plain, fetched):
        del step["execution_time"]
    assert plain == fetched
    assert "found" in plain["stdout"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param({"files": {"../x": ""}}, "a path must be relative", id="outside"),
        pytest.param({"files": {"/x": ""}}, "a path must be relative", id="absolute"),
        pytest.param({"files": {"x": "?"}}, "x is not base64", id="no base64"),
        pytest.param({"files": {"a": "", "a/b": ""}}, "below the path of another", id="in a file"),
        pytest.param({"fetch_files": [".."]}, "a path must be relative", id="fetch outside"),
        pytest.param({"run_timeout": 1e9}, "at most 300", id="long"),
        pytest.param({"run_timeout": -1}, "more than 0", id="negative"),
        pytest.param({"memory_limit_MB": 10**9}, "this service allows 2048", id="large"),
    ],
)
def test_unsupported_request_is_a_sandbox_error(
    service: Service, fields: dict[str, Any], message: str
) -> None:
    answer = service.run_code("print(1)", **fields)
    assert (answer["status"], answer["run_result"]) == ("SandboxError", None)
    assert message in answer["message"]


def test_overload_is_a_504_and_verl_tries_again(tmp_path: Path, verl: ModuleType) -> None:
    overloads = 'grader_programs_total{outcome="overload"}'
    with serving(tmp_path, slots=1, server__run_wait_s=1) as service:
        busy = HTTPConnection(urlsplit(service.url).netloc)
        program = {"code": "import time; time.sleep(60)", "language": "python", "run_timeout": 90}
        busy.request("POST", "/run_code", json.dumps(program), {"Content-Type": "application/json"})
        wait_for_slot(service)
        response = service.post("/run_code", {"code": "print(1)", "language": "python"})
        assert (response.status_code, "busy" in response.json()["detail"]) == (504, True)

        def hang_up() -> None:
            # The service stops a program if its client has gone.
            wait_until(lambda: service.metric(overloads) >= 2, 30, "verl met the busy service")
            busy.close()

        leaver = threading.Thread(target=hang_up)
        leaver.start()
        results, _ = sys_module(verl).check_correctness(
            sandbox_fusion_url=f"{service.url}/run_code",
            in_outs={"inputs": [None], "outputs": ["1"]},
            generation="print(1)",
        )
        leaver.join()
        assert results == [True]


@pytest.fixture
def hog() -> Iterator[int]:
    """A busy CPU: a process with normal priority gets almost no time on it."""
    cpu = max(os.sched_getaffinity(0))
    code = f"""
import os
os.sched_setaffinity(0, {{{cpu}}})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
print("hogging", flush=True)
while True: pass
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        if not process.stdout.readline():
            pytest.skip("a process may not be given another priority here")
        yield cpu
        process.kill()


def test_endless_program_that_gets_no_cpu_is_out_of_time_and_no_error_to_verl(
    service: Service, verl: ModuleType, hog: int
) -> None:
    # With 2 s to run, the client waits for 14 s. Of those, the program gets a twentieth.
    results, details = sys_module(verl).check_correctness(
        sandbox_fusion_url=f"{service.url}/run_code",
        in_outs={"inputs": [None], "outputs": ["1"]},
        generation=f"import os\nos.sched_setaffinity(0, {{{hog}}})\nwhile True: pass",
        timeout=2,
    )
    assert (results, details[0]["status"]) == ([-3], "timeout"), details
    assert service.run_code("print(1)")["run_result"]["stdout"] == "1\n"


def wait_for_slot(service: Service) -> None:
    deadline = time.monotonic() + 20
    while service.metric('grader_slots{state="busy",where="here"}') < 1:
        assert time.monotonic() < deadline
        time.sleep(0.02)
