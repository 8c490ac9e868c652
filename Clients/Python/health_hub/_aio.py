"""The client for asyncio."""
from __future__ import annotations

import asyncio
import os
import time
from typing import Any, AsyncIterator, Awaitable, Callable, Iterable, List, Optional, cast

import zmq
import zmq.asyncio

from ._core import Change, Command, Delivery, Following, HubError, Object, Pause, Pending, Result, Session
from ._wire import Place, hello

Deliver = Callable[[List[Object]], Awaitable[List[Object]]]
Carry = Callable[[Command], Awaitable[Any]]


class AsyncHub:
    """As Hub, with `async with`, for one event loop: any number of tasks may call at the same time.

    Deliveries and commands are handled from the moment they are registered, deliveries of a subscription one after
    the other. It has no spool: keep what must not be lost with a `Spool`, and `give` from there.
    """

    def __init__(self, instance: Optional[str] = None, *, plugin: Optional[str] = None, version: str = "1.0",
                 mode: str = "run", door: Optional[str] = None, feed: Optional[str] = None, key: Optional[str] = None,
                 members: Optional[Object] = None, token: Optional[str] = None, isLaunched: bool = False) -> None:
        self._place = Place(instance, door, feed, key, token)
        self._session = Session(hello(self._place, plugin, version, {"mode": mode, **(members or {})}), isLaunched)
        self._isLaunched, self._hasStdin = isLaunched, True
        self._deliver: dict[str, Deliver] = {}
        self._commands: dict[str, Carry] = {}
        self._working: set[asyncio.Task[None]] = set()
        self._turns: dict[str, asyncio.Lock] = {}

    async def __aenter__(self) -> "AsyncHub":
        self._context = zmq.asyncio.Context()
        self._door: Any = self._place.openDoor(self._context)
        self._handshakes: Any = self._place.watch(self._door)
        self._wake, self._changed = asyncio.Event(), asyncio.Condition()
        if self._isLaunched:
            asyncio.get_running_loop().add_reader(0, self._readStdin)
        self._pump = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._working:
            task.cancel()
        if self._session.failure is None and not self._pump.done():
            self._session.bye()
            self._wake.set()
            await asyncio.wait([self._pump], timeout=1)
        self._pump.cancel()
        if self._isLaunched and self._hasStdin:
            asyncio.get_running_loop().remove_reader(0)
        self._door.disable_monitor()
        self._handshakes.close()
        self._door.close()
        self._context.destroy(linger=0)

    @property
    def isStopping(self) -> bool:
        """Whether the hub has told this program to end."""
        return self._isLaunched and (self._session.isStopping or not self._hasStdin)

    async def welcome(self) -> Object:
        """The hub's WELCOME (Protocol §4.2)."""
        await self._until(lambda: self._session.welcome is not None)
        return cast(Object, self._session.welcome)

    async def give(self, records: Iterable[Object], *, backfill: bool = False) -> List[Result]:
        """As Hub.give. Cancelled, it leaves open whether they are stored: give them again."""
        return cast(List[Result], await self._await(self._session.give(records, backfill)))

    async def live(self, body: Object) -> bool:
        """As Hub.live."""
        return await self._tell("LIVE", body)

    async def event(self, body: Object) -> bool:
        """As Hub.event."""
        return await self._tell("EVENT", body)

    async def _tell(self, verb: str, body: Object) -> bool:
        await self.welcome()
        isSaid = self._session.tell(verb, body)
        self._wake.set()
        return isSaid

    async def token(self, body: Object) -> Object:
        """As Hub.token."""
        return cast(Object, await self._await(self._session.ask(body, "TOKEN")))

    async def putToken(self, body: Object) -> Object:
        """As Hub.putToken."""
        return cast(Object, await self._await(self._session.ask(body, "TOKEN-PUT")))

    async def ask(self, body: Object) -> Object:
        """One RESULT, a page, of QUERY with these members (Protocol §8.1)."""
        return cast(Object, await self._await(self._session.ask(body)))

    async def records(self, **question: Any) -> AsyncIterator[Object]:
        """As Hub.records."""
        asked = {"want": "records", **question}
        while True:
            page = await self.ask(asked)
            for record in page["records"]:
                yield record
            if "next" not in page:
                return
            asked["next"] = page["next"]

    async def statistics(self, **question: Any) -> AsyncIterator[Object]:
        """As Hub.statistics."""
        asked = {"want": "statistics", **question}
        while True:
            page = (await self.ask(asked))["statistics"]
            for interval in page["intervals"]:
                yield interval
            if "next" not in page:
                return
            asked["next"] = page["next"]

    async def follow(self, types: Optional[Iterable[str]] = None, place: Optional[str] = None, *,
                     days: bool = False) -> AsyncIterator[Change]:
        """As Hub.follow."""
        following = Following(types, place, days)
        feed = self._place.openFeed(self._context, following.topics)
        try:
            while not self.isStopping:
                sessions = self._session.sessions
                if following.hasMore:
                    try:
                        result = await self.ask(following.question((await self.welcome())["epoch"]))
                    except HubError as error:
                        if error.code == "stopping":
                            return
                        yield following.refused(error)
                        continue
                    for change in following.answer(result):
                        yield change
                elif feed is None:
                    await asyncio.sleep(1)
                    following.hasMore = True
                else:
                    # Wait a second at most, because a restarted hub may have no message that rings.
                    while await feed.poll(0 if following.hasMore else 1000):
                        following.hasMore = following.rings(await feed.recv_multipart()) or following.hasMore
                    self._check()
                    following.hasMore = following.hasMore or sessions != self._session.sessions
        finally:
            if feed is not None:
                feed.close()

    def sink(self, want: Object, deliver: Deliver) -> None:
        """As Hub.sink."""
        body: Object = {"credit": {"records": 1000, "bytes": 1 << 20}, **want}
        self._deliver[body["want"]] = deliver
        self._turns[body["want"]] = asyncio.Lock()
        self._session.want(body)
        self._wake.set()

    def command(self, name: str, carry: Carry) -> None:
        """As Hub.command."""
        self._commands[name] = carry

    def progress(self, command: Command, done: float, total: Optional[float] = None, text: Optional[str] = None) -> None:
        self._session.progress(command, done, total, text)
        self._wake.set()

    async def serve(self) -> None:
        """Returns when the hub stops this plugin."""
        await self._until(lambda: False, stops=False)

    # Inside

    def _check(self) -> None:
        if self._session.failure:
            raise self._session.failure
        if self._pump.done() and not self._pump.cancelled():
            self._pump.result()
            raise HubError("over", "this AsyncHub is closed")

    async def _await(self, pending: Pending) -> Any:
        await self._until(lambda: pending.isDone)
        if pending.error:
            raise pending.error
        return pending.result

    async def _until(self, isSo: Callable[[], bool], stops: bool = True) -> None:
        self._wake.set()
        async with self._changed:
            while not isSo():
                self._check()
                if self.isStopping:
                    if stops:
                        raise HubError("stopping", "the hub stops this program; what was not stored is given again")
                    return
                await self._changed.wait()

    async def _run(self) -> None:
        try:
            while not self._session.isOver and self._session.failure is None:
                due = self._session.turn(time.monotonic())
                await self._send()
                wait = max(1, int(due * 1000))
                waits = [asyncio.ensure_future(one) for one in (
                    self._door.poll(wait), self._handshakes.poll(wait), self._wake.wait())]
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                for waiting in waits:
                    waiting.cancel()
                self._wake.clear()
                while await self._handshakes.poll(0):
                    self._place.hearHandshake(await self._handshakes.recv_multipart(), self._session)
                for _ in range(100):
                    try:
                        frames = await self._door.recv_multipart(zmq.DONTWAIT)
                    except zmq.Again:
                        break
                    self._session.receive(frames, time.monotonic())
                while self._session.inbox:
                    task = asyncio.create_task(self._work(self._session.inbox.popleft()))
                    self._working.add(task)
                    task.add_done_callback(self._finished)
                async with self._changed:
                    self._changed.notify_all()
        finally:
            async with self._changed:
                self._changed.notify_all()

    async def _send(self) -> None:
        outgoing = self._session.outgoing
        while outgoing:
            try:
                await self._door.send_multipart(outgoing[0], zmq.DONTWAIT)
                outgoing.popleft()
            except zmq.Again:
                self._session.refused(time.monotonic())

    async def _work(self, item: Any) -> None:
        if isinstance(item, Delivery):
            async with self._turns[item.want]:
                try:
                    pause = self._session.pauseLeft(item, time.monotonic())
                    if pause:
                        raise pause
                    results = await self._deliver[item.want](item.records)
                except Pause as pause:
                    self._session.paused(item, pause, time.monotonic())
                    return self._wake.set()
                except Exception as error:
                    retry = {"result": "retry", "after": 60_000, "reason": type(error).__name__}
                    results = [retry for _ in item.records]
                self._session.done(item, results)
        elif item.name not in self._commands:
            self._session.outcome(item, "failed", code="command", reason=f"there is no command {item.name}")
        else:
            try:
                self._session.outcome(item, "done", result=await self._commands[item.name](item))
            except HubError as error:
                self._session.outcome(item, "failed", code=error.code, reason=error.reason)
        self._wake.set()

    def _finished(self, task: "asyncio.Task[None]") -> None:
        self._working.discard(task)
        error = None if task.cancelled() else task.exception()
        if error:  # notify the callers
            self._session.failure = error if isinstance(error, HubError) else HubError("program", repr(error))
            self._wake.set()

    def _readStdin(self) -> None:
        if not os.read(0, 4096):
            self._hasStdin = False
            asyncio.get_running_loop().remove_reader(0)
            self._wake.set()
