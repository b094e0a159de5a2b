"""Every error that Ferry raises, in one tree below FerryError."""

from __future__ import annotations


class FerryError(Exception):
    """The root: `except FerryError` catches whatever Ferry itself can raise."""


class ConfigError(FerryError):
    """A queue, store, schedule or dashboard was set up in a way that cannot work."""


class PayloadError(FerryError):
    """The arguments of a job cannot be written as JSON."""


class PayloadTooLarge(PayloadError):
    """The encoded arguments exceed the limit.

    Attributes:
        size: bytes that the payload would have taken.
        limit: bytes that are allowed.
    """

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"payload has {size} bytes, the limit is {limit}; pass a path or a key instead")
        self.size = size
        self.limit = limit


class StoreError(FerryError):
    """The store could not do what was asked."""


class StoreLocked(StoreError):
    """Another process held the database for longer than the busy timeout."""


class LeaseLost(StoreError):
    """A worker tried to settle a job that is no longer its own."""

    def __init__(self, job_id: str) -> None:
        super().__init__(f"job {job_id} is not leased to this worker any more")
        self.job_id = job_id


class JobError(FerryError):
    """Something about a single job: what it is, how it ran, how it should go on."""


class UnknownTask(JobError):
    """No task of that name is registered here.

    It is retried like any failure: in a rolling deployment another worker may know the task already.
    """


class JobTimeout(JobError):
    """A job ran longer than the `timeout` of its task."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"job ran longer than {seconds:g} s")
        self.seconds = seconds


class RetryLater(JobError):
    """Raised by a task that knows when it is worth trying again, e.g. from a Retry-After header.

    The delay replaces the one of the retry policy; the attempt still counts.
    """

    def __init__(self, delay: float, reason: str = "asked to be retried later") -> None:
        super().__init__(reason)
        self.delay = delay


class PermanentFailure(JobError):
    """Raised by a task for which another attempt is pointless; the job is buried at once."""
