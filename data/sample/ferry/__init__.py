"""Ferry: a background-job queue that needs nothing but Python and one SQLite file."""

from ferry.errors import FerryError, JobError, JobTimeout, PermanentFailure, RetryLater
from ferry.job import Job, JobState
from ferry.queue import Queue, Task, load_object
from ferry.retry import ConstantBackoff, ExponentialBackoff, JitteredBackoff, RetryPolicy
from ferry.schedule import Cron, DailyAt, Every, Scheduler

__version__ = "2.0.0"

__all__ = [
    "ConstantBackoff",
    "Cron",
    "DailyAt",
    "Every",
    "ExponentialBackoff",
    "FerryError",
    "JitteredBackoff",
    "Job",
    "JobError",
    "JobState",
    "JobTimeout",
    "PermanentFailure",
    "Queue",
    "RetryLater",
    "RetryPolicy",
    "Scheduler",
    "Task",
    "load_object",
]
