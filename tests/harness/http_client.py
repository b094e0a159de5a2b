"""Send HTTP requests to local servers: without httpx's limit of five seconds, which a busy machine exceeds, and
without certificates, which take longer to load than a reply to arrive.
"""

from functools import partial

import httpx2

from tests.harness.commands import SECONDS

get = partial(httpx2.get, timeout=SECONDS, verify=False)
post = partial(httpx2.post, timeout=SECONDS, verify=False)
request = partial(httpx2.request, timeout=SECONDS, verify=False)
Client = partial(httpx2.Client, timeout=SECONDS, verify=False)
