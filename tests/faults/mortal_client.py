"""A client that grades a batch in a process of its own: `python -m tests.faults.mortal_client`.

Takes the broker, the number of submissions, and a file that it makes after ten reports. Prints the
verdicts that are wrong.
"""

import sys
from pathlib import Path

from grader.config.settings import QueueSettings, Settings
from grader.queueing.grader import QueueGrader
from tests.mixture import mixture


def main(broker: str, count: str, mark: str) -> None:
    settings = Settings(broker=broker, queue=QueueSettings(deadline_s=240, lease_s=2))
    with QueueGrader(settings) as grader:
        expected = {submission.id: verdict for submission, verdict in mixture(int(count))}
        batch = (submission for submission, _ in mixture(int(count)))
        for number, (submission, report) in enumerate(grader.as_completed(batch)):
            if number == 10:
                Path(mark).touch()
            if report.verdict is not expected[submission.id]:
                print(submission.id, report.verdict, report.feedback)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
