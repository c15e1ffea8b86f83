"""The Celery application of a worker: `celery -A worker.app worker`, or `python -m worker`."""

from grader.config.loading import load_settings
from grader.queueing.dispatch import make_app
from grader.queueing.names import GRADE_TASK, queue_name
from worker import transport
from worker.brokers import choose_broker
from worker.lifecycle import Lifecycle

settings = choose_broker(load_settings().settings)
transport.use()
app = make_app(settings)
app.conf.update(
    task_queues={queue_name(image): {} for image in settings.queue.images.split(",")},
    worker_pool="threads",
    worker_consumer="worker.consumer:HintConsumer",
    # More threads than slots: a slot can run one job while others are taken or handed in.
    worker_concurrency=settings.slots + 1 + settings.slots // 4,
)
lifecycle = Lifecycle(app, settings)


@app.task(name=GRADE_TASK)  # type: ignore[untyped-decorator]
def grade() -> None:
    """Grade jobs until none waits; the reports go to the ledger."""
    lifecycle.executor.execute()
