"""The Celery application of the workers: `celery -A worker.app worker`, or `python -m worker`."""

from grader.queueing.dispatch import make_app
from grader.queueing.names import queue_name
from grader.settings import load_settings
from worker.lifecycle import Lifecycle
from worker.tasks import register

settings = load_settings().settings
app = make_app(settings)
app.conf.update(
    task_queues={queue_name(image): {} for image in settings.queue.images.split(",")},
    worker_pool="threads",
    worker_concurrency=settings.slots,
)
lifecycle = Lifecycle(app, settings)
register(app, lifecycle)
