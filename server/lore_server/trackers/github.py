"""The streams of a GitHub project: issues and pull requests, their comments, releases and discussions."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from lore_etl.core.errors import ProviderUnavailable
from lore_etl.core.text import counted
from lore_server.knowledge.names import DEVICES
from lore_server.trackers import tickets
from lore_server.trackers.tickets import ISSUES
from lore_server.trackers.tracker_client import Stream, TrackerClient, endless_pages

ADDRESS = "https://api.github.com"
ADDRESS_VARIABLE = "LORE_GITHUB_URL"
TOKEN_VARIABLES = ("GITHUB_TOKEN", "GH_TOKEN")
PULLS, DISCUSSIONS = "pulls", "discussions"
_COUNTED = "discussions with the number of their comments"  # earlier pulls did not store it, so all are read again
_KEYS = {"title": "title", "created": "created_at", "updated": "updated_at", "url": "html_url", "body": "body"}
_RELEASE_KEYS = {**_KEYS, "title": "name", "updated": "published_at"}
_DISCUSSION_KEYS = {**_KEYS, "created": "createdAt", "updated": "updatedAt", "url": "url"}
_login = partial(tickets.user_name, key="login")
_BY_CHANGE = {"sort": "updated", "direction": "asc"}
_DISCUSSIONS = Path(__file__).with_name("discussions.graphql").read_text(encoding="utf-8")


def headers(token: str | None) -> dict[str, str]:
    known = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
    return {**known, "Authorization": f"Bearer {token}"} if token else known


def streams(project: str, client: TrackerClient) -> list[Stream]:
    """Return the streams of a project `OWNER/REPO`."""
    base = f"repos/{project}"
    return [
        Stream("issues", f"{base}/issues", _issue, {"state": "all", **_BY_CHANGE}, "since"),
        Stream("comments", f"{base}/issues/comments", partial(_comment, "issue_url"), _BY_CHANGE, "since"),
        Stream("reviews", f"{base}/pulls/comments", partial(_comment, "pull_request_url"), _BY_CHANGE, "since"),
        Stream("releases", f"{base}/releases", _release),
    ]


def pull_discussions(client: TrackerClient, store: tickets.TicketStore, project: str) -> None:
    """Store the discussions that changed, newest first; GitHub shows them only to requests with a token."""
    owner, _, name = project.partition("/")
    known, newest, after = store.position(_COUNTED).get("since", ""), "", None
    while True:
        variables = {"owner": owner, "name": name, "after": after}
        data = client.post("graphql", {"query": _DISCUSSIONS, "variables": variables})
        try:
            page = data["data"]["repository"]["discussions"]
            changed = [node for node in page["nodes"] if node["updatedAt"] > known]
            store.take(changed, _discussion)
            newest = max([newest, *(node["updatedAt"] for node in changed)])
            is_last = len(changed) < len(page["nodes"]) or not page["pageInfo"]["hasNextPage"]
            before, after = after, page["pageInfo"]["endCursor"]
        except (KeyError, TypeError) as error:
            raise ProviderUnavailable("GitHub did not return discussions.", "Check the token's permissions.") from error
        if is_last:
            store.move_to(_COUNTED, {"since": max(known, newest)})
            return
        if after == before:
            raise endless_pages()


def _issue(store: tickets.TicketStore, item: tickets.Item) -> None:
    number, request = tickets.ticket_number(item["number"]), item.get("pull_request")
    is_merged = isinstance(request, dict) and bool(request.get("merged_at"))
    folder, state = (PULLS if request else ISSUES), ("merged" if is_merged else tickets.text_of(item.get("state")))
    labels = [tickets.text_of(one["name"] if isinstance(one, dict) else one) for one in item.get("labels") or ()]
    author, before = _login(item.get("user")), store.get(number)
    ticket = tickets.ticket_of(folder, number, item, _KEYS, before, state=state, author=author, labels=labels)
    store.put(number, ticket)
    if request:
        store.link_closed("", ticket, before, "pull request")


def _comment(address: str, store: tickets.TicketStore, item: tickets.Item) -> None:
    """Store a comment; `address` is the key with the address of its ticket."""
    number = tickets.text_of(item.get(address)).rpartition("/")[2]
    if number.isdecimal():
        comment = tickets.comment_of(_login(item.get("user")), item)
        ticket = store.get(number) or tickets.TicketRecord(ISSUES, number)
        store.put(number, replace(ticket, comments={**ticket.comments, f"{address}-{item['id']}": comment}))


def _release(store: tickets.TicketStore, item: tickets.Item) -> None:
    if item.get("draft"):
        return
    number, state = tickets.ticket_number(item["id"]), "prerelease" if item.get("prerelease") else "released"
    name, author = file_name(tickets.text_of(item.get("tag_name"))) or number, _login(item.get("author"))
    store.put(f"release-{number}", tickets.release_of(name, item, _RELEASE_KEYS, state=state, author=author))


def _discussion(store: tickets.TicketStore, node: tickets.Item) -> None:
    number = tickets.ticket_number(node["number"])
    comments = {
        str(comment["id"]): tickets.comment_of(_login(comment.get("author")), comment, "createdAt")
        for comment in node["comments"]["nodes"]
    }
    labels = [tickets.text_of(label["name"]) for label in node["labels"]["nodes"]]
    known = {"state": "closed" if node.get("closed") else "open", "author": _login(node.get("author"))}
    if total := node["comments"]["totalCount"]:
        note = f"({len(comments)} of {counted(total, 'comment')}, without the replies to them)"
        known["body"] = f"{tickets.text_of(node.get('body'))}\n\n{note}"
    ticket = tickets.ticket_of(
        DISCUSSIONS, number, node, _DISCUSSION_KEYS, store.get(number), labels=labels, comments=comments, **known
    )
    store.put(number, ticket)


def file_name(text: str) -> str:
    """Return a text as a file name that is valid on every system; empty if nothing of the text is left."""
    name = "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "-" for char in text)[:100]
    name = name.strip("._-")
    return f"{name}-x" if name.partition(".")[0].lower() in DEVICES else name
