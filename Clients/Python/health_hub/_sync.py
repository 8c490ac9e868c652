"""The client that waits in each call."""
from __future__ import annotations

import os
import time
from typing import Any, Callable, Iterable, Iterator, List, Optional, cast

import zmq

from ._core import Change, Command, Delivery, Following, HubError, Object, Pause, Pending, Result, Session
from ._spool import Spool
from ._wire import Place, hello

Deliver = Callable[[List[Object]], List[Object]]
"""Takes a delivery's records, and returns a result for each (Protocol §10.2), such as `{"result": "delivered", "receipt": "17"}`.
It raises Pause if its target is away."""
Carry = Callable[[Command], Any]
"""Carries out a command and returns the result, a JSON value. A HubError is the command's failure."""


class Hub:
    """A session with the hub, through its restarts. One thread uses it; forked processes open their own.

    - instance, door, feed, key: see Docs/Clients.md; from the environment if not given.
    - plugin: `source.plugin` of all records, the instance's name if not given.
    - mode: `run` (one of an instance, a newer one ends the older) or `once` (any number).
    - members: more of HELLO, such as `writes` and `declares`.
    - spool: the path of a file for `keep`.

    Every call waits until the hub has answered, however long the hub is away. It raises HubError if the hub refuses
    for good, with code `stopping` if the hub ends the plugin, and TimeoutError after `timeout` seconds if that is a
    parameter.
    """

    def __init__(self, instance: Optional[str] = None, *, plugin: Optional[str] = None, version: str = "1.0",
                 mode: str = "run", door: Optional[str] = None, feed: Optional[str] = None, key: Optional[str] = None,
                 spool: Optional[str] = None, members: Optional[Object] = None, token: Optional[str] = None,
                 isLaunched: bool = False) -> None:
        self._place = Place(instance, door, feed, key, token)
        self._context: Any = zmq.Context()
        self._session = Session(hello(self._place, plugin, version, {"mode": mode, **(members or {})}), isLaunched)
        self._door = self._place.openDoor(self._context)
        self._handshakes = self._place.watch(self._door)
        self._poller = zmq.Poller()
        self._poller.register(self._door, zmq.POLLIN)
        self._poller.register(self._handshakes, zmq.POLLIN)
        self._isLaunched, self._hasStdin = isLaunched, isLaunched
        if isLaunched:
            self._poller.register(0, zmq.POLLIN)
        self._deliver: dict[str, Deliver] = {}
        self._commands: dict[str, Carry] = {}
        self.spool = Spool(spool) if spool else None
        self._spooling: Optional[tuple[int, List[Object], Pending]] = None

    def __enter__(self) -> "Hub":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def isStopping(self) -> bool:
        """Whether the hub has told this program to end."""
        return self._isLaunched and (self._session.isStopping or not self._hasStdin)

    @property
    def welcome(self) -> Object:
        """The hub's WELCOME (Protocol §4.2): `settings`, `persons`, `epoch`, `grants`; waits for the first."""
        self._until(lambda: self._session.welcome is not None)
        return self._session.welcome or {}

    # Giving

    def give(self, records: Iterable[Object], *, backfill: bool = False, timeout: Optional[float] = None) -> List[Result]:
        """Returns when the hub has them on its disk: a Result for each record, in their order.

        A record needs a `key` that identifies it at its source. The same key and content again is a `duplicate`, so give
        records again if the call did not return. The records of a group must be adjacent. `backfill`
        is for history: the feed does not publish each record.
        """
        return cast(List[Result], self._await(self._session.give(records, backfill), timeout))

    def keep(self, records: Iterable[Object]) -> None:
        """Returns when they are in the spool on this machine's disk. They are given from there whenever the hub
        answers while a call of this object waits: see `flush` and `serve`."""
        if self.spool is None:
            raise HubError("spool", "this Hub has no spool: Hub(…, spool='kitchen.spool')")
        self.spool.add(records)
        self._turn(0)

    def flush(self, timeout: Optional[float] = None) -> int:
        """Waits until the spool is empty, or for `timeout` seconds; returns how many records wait in it."""
        spool = self.spool
        try:
            self._until(lambda: spool is None or (len(spool) == 0 and self._spooling is None), timeout)
        except TimeoutError:
            pass
        return len(spool) if spool else 0

    # Saying

    def live(self, body: Object) -> bool:
        """Publishes a live value, the body of LIVE (Protocol §5.2). It has no answer and is not kept: after the first session,
        for which the call waits, it returns False if the hub is away."""
        return self._tell("LIVE", body)

    def event(self, body: Object) -> bool:
        """Publishes an event, the body of EVENT (Protocol §5.2), such as `{"event": "disconnected", "device": "…"}`;
        otherwise as `live`."""
        return self._tell("EVENT", body)

    def _tell(self, verb: str, body: Object) -> bool:
        self._until(lambda: self._session.welcome is not None)
        isSaid = self._session.tell(verb, body)
        self._turn(0)
        return isSaid

    # Tokens (Protocol §11)

    def token(self, body: Object, timeout: Optional[float] = None) -> Object:
        """The hub's answer to TOKEN: `{"account": "me", "for": "use"}`, `refresh` or `release`."""
        return cast(Object, self._await(self._session.ask(body, "TOKEN"), timeout))

    def putToken(self, body: Object, timeout: Optional[float] = None) -> Object:
        """Returns when the hub has the token on its disk: `{"account": "me", "expect": 3, "token": {…}}`. HubError `field`:
        it has another version than `expect`. `lost`: the session ended before the answer, `token` has the result."""
        return cast(Object, self._await(self._session.ask(body, "TOKEN-PUT"), timeout))

    # Asking

    def ask(self, body: Object, timeout: Optional[float] = None) -> Object:
        """One RESULT, a page, of QUERY with these members (Protocol §8.1)."""
        return cast(Object, self._await(self._session.ask(body), timeout))

    def records(self, **question: Any) -> Iterator[Object]:
        """Records over all pages; members of QUERY as parameters: `types=["weight"], order="-end", limit=10`.
        `from` of Protocol §8.1 is a word of Python: `**{"from": "2026-01-01T00:00:00Z"}`."""
        yield from self._pages("records", lambda page: page, "records", question)

    def statistics(self, **question: Any) -> Iterator[Object]:
        """The intervals of statistics (Protocol §8.4) over all pages, figures in the type's unit, None for nothing."""
        yield from self._pages("statistics", lambda page: cast(Object, page["statistics"]), "intervals", question)

    def _pages(self, want: str, of: Callable[[Object], Object], name: str, question: Object) -> Iterator[Object]:
        asked = {"want": want, **question}
        while True:
            page = of(self.ask(asked))
            yield from page[name]
            if "next" not in page:
                return
            asked["next"] = page["next"]

    # Following

    def follow(self, types: Optional[Iterable[str]] = None, place: Optional[str] = None, *,
               days: bool = False) -> Iterator[Change]:
        """Every version of every record since `place`, each once, then new ones; without `place` from the first.

        `types` are ids, None for all; with `days` it gives days, too. It ends only when the hub stops this
        plugin. Change describes how to apply each.
        """
        following = Following(types, place, days)
        feed = self._place.openFeed(self._context, following.topics)
        try:
            if feed is not None:
                self._poller.register(feed, zmq.POLLIN)
            while not self.isStopping:
                sessions = self._session.sessions
                if following.hasMore:
                    try:
                        result = self.ask(following.question(self.welcome["epoch"]))
                    except HubError as error:
                        if error.code == "stopping":
                            return
                        yield following.refused(error)
                        continue
                    yield from following.answer(result)
                elif feed is None:
                    until = time.monotonic() + 1
                    while time.monotonic() < until and not self.isStopping:
                        self._turn(until - time.monotonic())
                    following.hasMore = True
                else:
                    self._turn(None)
                    self._check()
                    following.hasMore = sessions != self._session.sessions
                    while feed.poll(0):
                        following.hasMore = following.rings(feed.recv_multipart()) or following.hasMore
        finally:
            if feed is not None:
                self._poller.unregister(feed)
                feed.close()

    # Serving

    def sink(self, want: Object, deliver: Deliver) -> None:
        """A subscription that the hub remembers (Protocol §10.1): `want` needs `want`, its name, and `start`; `serve`
        calls `deliver`, and answers the hub with what it returns. An exception of it is a retry a minute later."""
        body: Object = {"credit": {"records": 1000, "bytes": 1 << 20}, **want}
        self._deliver[body["want"]] = deliver
        self._session.want(body)

    def command(self, name: str, carry: Carry) -> None:
        """`serve` calls `carry` when a person asks for this command of the manifest."""
        self._commands[name] = carry

    def progress(self, command: Command, done: float, total: Optional[float] = None, text: Optional[str] = None) -> None:
        self._session.progress(command, done, total, text)
        self._turn(0)

    def serve(self, timeout: Optional[float] = None) -> bool:
        """Delivers, carries out commands and empties the spool, until the hub stops this plugin, or for `timeout`
        seconds; returns whether to go on."""
        end = None if timeout is None else time.monotonic() + timeout
        while not self.isStopping:
            while self._session.inbox and not self.isStopping:
                self._work(self._session.inbox.popleft())
                self._turn(0)
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return True
            self._turn(left)
            self._check()
        return False

    def _work(self, item: Any) -> None:
        if isinstance(item, Delivery):
            try:
                pause = self._session.pauseLeft(item, time.monotonic())
                if pause:
                    raise pause
                results = self._deliver[item.want](item.records)
            except Pause as pause:
                return self._session.paused(item, pause, time.monotonic())
            except HubError:
                raise
            except Exception as error:
                retry = {"result": "retry", "after": 60_000, "reason": type(error).__name__}
                results = [retry for _ in item.records]
            self._session.done(item, results)
            return
        if item.isCancelled:
            self._session.outcome(item, "cancelled")
        elif item.name not in self._commands:
            self._session.outcome(item, "failed", code="command", reason=f"there is no command {item.name}")
        else:
            try:
                self._session.outcome(item, "done", result=self._commands[item.name](item))
            except HubError as error:
                self._session.outcome(item, "failed", code=error.code, reason=error.reason)

    def close(self) -> None:
        """Says BYE and ends. What is still in the spool waits for the next Hub."""
        if self._session.failure is None:
            self._session.bye()
            end = time.monotonic() + 1
            while not self._session.isOver and self._session.failure is None and time.monotonic() < end:
                self._turn(0.05)
        self._door.disable_monitor()
        self._handshakes.close()
        self._door.close()
        self._context.destroy(linger=0)
        if self.spool:
            self.spool.close()

    # Inside

    def _check(self) -> None:
        if self._session.failure:
            raise self._session.failure
        if self._session.isOver:
            raise HubError("over", "this Hub is closed")

    def _await(self, pending: Pending, timeout: Optional[float]) -> Any:
        self._until(lambda: pending.isDone, timeout)
        if pending.error:
            raise pending.error
        return pending.result

    def _until(self, isSo: Callable[[], bool], timeout: Optional[float] = None) -> None:
        end = None if timeout is None else time.monotonic() + timeout
        self._turn(0)
        while not isSo():
            self._check()
            if self.isStopping:
                raise HubError("stopping", "the hub stops this program; what was not stored is given again")
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError("the hub did not answer in time")
            self._turn(left)

    def _turn(self, wait: Optional[float]) -> None:
        """Sends due messages, waits for an event, and handles it."""
        self._spoolOn()
        due = self._session.turn(time.monotonic())
        self._send()
        wait = due if wait is None else min(due, wait)
        events = dict(self._poller.poll(max(0, int(wait * 1000 + 0.999))))
        if 0 in events and not os.read(0, 4096):
            self._hasStdin = False
            self._poller.unregister(0)
        while self._handshakes.getsockopt(zmq.EVENTS) & zmq.POLLIN:
            self._place.hearHandshake(self._handshakes.recv_multipart(), self._session)
        heard = 0
        while heard < 100 and self._door.getsockopt(zmq.EVENTS) & zmq.POLLIN:
            self._session.receive(self._door.recv_multipart(), time.monotonic())
            heard += 1
        if heard:
            self._session.turn(time.monotonic())
            self._send()

    def _send(self) -> None:
        outgoing = self._session.outgoing
        while outgoing:
            try:
                self._door.send_multipart(outgoing[0], zmq.DONTWAIT)
                outgoing.popleft()
            except zmq.Again:
                self._session.refused(time.monotonic())

    def _spoolOn(self) -> None:
        if self.spool is None or self._session.failure:
            return
        if self._spooling and self._spooling[2].isDone:
            last, records, giving = self._spooling
            self._spooling = None
            if giving.error:
                raise giving.error
            self.spool.settle(last, records, giving.result)
        if self._spooling is None and len(self.spool):
            last, records = self.spool.first(1000)
            self._spooling = (last, records, self._session.give(records))
