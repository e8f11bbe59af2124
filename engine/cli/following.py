"""`offbeat runs --follow`: runs as their states change.

Over the event stream of the engine; while there is none, by asking for the newest runs again and
again, which nobody is told of. Each time a stream begins, or says that it cannot go on from where
it was, the list is asked for what came in between. A run's state is shown once, whoever tells it.
"""

import json
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from engine.cli.client import Client
from engine.cli.output import talk
from engine.core.errors import OffbeatError

POLL_SECONDS = 2.0
"""Between two tries to have a stream, and two looks at the list without one."""

SEEN_MAX = 10_000
"""Runs of which is remembered what was shown."""


class Following:
    """The states of runs, of one schedule or all, from the newest `limit` on."""

    def __init__(self, client: Client, *, schedule: str | None, limit: int) -> None:
        self._client = client
        self._schedule = schedule
        self._limit = limit
        self._last_id: str | None = None
        self._seen: OrderedDict[str, tuple[str, int]] = OrderedDict()

    def rows(self) -> Iterator[dict[str, Any]]:
        """For ever. Raises what the first look at the list raises."""
        yield from self._listed()
        while True:
            with suppress(OffbeatError):
                yield from self._told()
            time.sleep(POLL_SECONDS)
            with suppress(OffbeatError):
                yield from self._listed()

    def _told(self) -> Iterator[dict[str, Any]]:
        for name, event_id, data in self._client.events(
            "/v1/events", after=self._last_id, types="runs", schedule=self._schedule
        ):
            self._last_id = event_id or self._last_id
            if name == "run":
                yield from self._unseen([data])
            elif name == "dropped":
                talk(f"{data['n']} more changes in a second, which are in the list")
            else:  # It begins here, or anew.
                yield from self._listed()

    def _listed(self) -> Iterator[dict[str, Any]]:
        newest = self._client.rows("/v1/runs", limit=self._limit, schedule=self._schedule)
        yield from self._unseen(list(newest)[::-1])

    def _unseen(self, rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for row in rows:
            state = (row["state"], row["attempt_count"])
            if self._seen.get(row["id"]) != state:
                self._seen[row["id"]] = state
                self._seen.move_to_end(row["id"])
                if len(self._seen) > SEEN_MAX:
                    self._seen.popitem(last=False)
                yield row


def show_line(row: dict[str, Any], columns: tuple[str, ...]) -> str:
    """A row as a line that stays readable when the next ones are longer."""
    return "  ".join("-" if row[column] is None else str(row[column]) for column in columns)


def json_line(row: dict[str, Any]) -> str:
    """A row as a line of JSON."""
    return json.dumps(row, ensure_ascii=False)
