"""The client's side of HHP/1 without sockets or threads: its input is messages and the time, its output is messages."""
from __future__ import annotations

import json
import sys
from collections import deque
from typing import Any, Callable, Deque, Dict, Iterable, List, Optional, TypedDict, Union

Object = Dict[str, Any]
"""A JSON object."""

_RESULTS = ("stored", "duplicate", "rejected")
_TOKENS = 8  # TOKEN and TOKEN-PUT that may be open (Protocol R11.8)


class Result(TypedDict, total=False):
    """The hub's answer to one record: `result` is `stored` or `duplicate`, with `number` and `seq`, or `rejected`, with
    `code` (Protocol §9.2) and `reason`."""

    result: str
    number: int
    seq: int
    code: str
    reason: str


class HubError(Exception):
    """`code` is the hub's (Protocol §9.1), `protocol` if the hub's answer was invalid, or `full` from a spool.

    `reason` is a sentence for people. `body` is the whole ERROR, empty if there was none.
    """

    def __init__(self, code: str, reason: str, body: Optional[Object] = None) -> None:
        super().__init__(f"{code}: {reason}")
        self.code, self.reason, self.body = code, reason, body or {}


def encode(value: Any, where: str) -> bytes:
    """Compact JSON. NaN, infinities and objects of Python that JSON does not have are an error that names the place."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise HubError("json", f"{where}: {error}") from None


def member(body: Object, path: str, kind: Union[type, tuple[type, ...]]) -> Any:
    """The member at `VERB.a.b` of a body, which is of this kind, or a HubError `protocol` that names it."""
    value: Any = body
    for name in path.split(".")[1:]:
        value = value.get(name) if isinstance(value, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        words = " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)))
        raise HubError("protocol", f"the hub's {path} is not of the kind {words}: is this a hub, and how old is it?")
    return value


class Pending:
    """A pending call: it ends with `result` or with `error`."""

    def __init__(self) -> None:
        self.isDone = False
        self.result: Any = None
        self.error: Optional[HubError] = None
        self.whenDone: Optional[Callable[[], None]] = None

    def end(self, result: Any = None, error: Optional[HubError] = None) -> None:
        if not self.isDone:
            self.isDone, self.result, self.error = True, result, error
            if self.whenDone:
                self.whenDone()


class Giving(Pending):
    """Records that are being sent. `result` is a Result for each of them, in their order."""

    def __init__(self, records: Iterable[Object], backfill: bool) -> None:
        super().__init__()
        given = list(records)
        self.backfill = backfill
        self.texts = [encode(record, f"records[{n}]") for n, record in enumerate(given)]
        self.groups = [record.get("group") for record in given]
        self.next = 0
        self.results: List[Result] = []

    def unitEnd(self, start: int) -> int:
        """The end of the records that must be in one batch: adjacent records of a group."""
        end = start + 1
        while self.groups[start] is not None and end < len(self.groups) and self.groups[end] == self.groups[start]:
            end += 1
        return end


class Pause(Exception):
    """Raised by `deliver` of a sink if its target is away: the hub pauses the subscription for this many
    seconds (0.1 to 604,800). Then all records of the delivery come again."""

    def __init__(self, seconds: float, reason: str = "the target is away") -> None:
        super().__init__(reason)
        self.seconds, self.reason = seconds, reason


class Question(Pending):
    """A QUERY, TOKEN or TOKEN-PUT. `result` is the body of the answer.

    QUERY and TOKEN are asked again in each session until they are answered; a TOKEN-PUT that was sent ends with the
    session, because the hub may have stored it.
    """

    def __init__(self, verb: str, body: Object) -> None:
        super().__init__()
        self.verb, self.body, self.id, self.due = verb, body, 0, 0.0


class Delivery:
    """Records of a subscription: `records` in canonical form, to be answered with `Session.done`."""

    def __init__(self, want: str, number: int, records: List[Object], size: int, session: str) -> None:
        self.want, self.number, self.records, self.size, self.session = want, number, records, size, session


class Command:
    """A command from a person to a plugin: `name` and `args` are declared in its manifest; with `dryRun` change nothing.

    `isCancelled` turns True if the person cancels it while it is carried out.
    """

    def __init__(self, id: int, name: str, args: Object, dryRun: bool, session: str) -> None:
        self.id, self.name, self.args, self.dryRun, self.session = id, name, args, dryRun, session
        self.isCancelled = False


class Session:
    """The client's part of the protocol: HELLO, heartbeat, credit, and the repetition of open requests in a new session.

    Frames to send are in `outgoing`; `receive` takes a message, `turn` takes the current time and returns the
    seconds until the next call. Deliveries and commands wait in `inbox`, which the hub's credit and its limit of 16
    commands bound. `failure` is why it is over.
    """

    def __init__(self, hello: Object, launched: bool = False) -> None:
        self.hello, self.launched = hello, launched
        self.welcome: Optional[Object] = None
        self.sessions = 0
        self.outgoing: Deque[List[bytes]] = deque()
        self.inbox: Deque[Union[Delivery, Command]] = deque()
        self.failure: Optional[HubError] = None
        self.isStopping = self.isOver = False
        self._isOpen, self._greeted, self._heard, self._pinged, self._hold = False, -1e9, 0.0, 0.0, 0.0
        self._records = self._bytes = self._number = 0
        self._givings: List[Giving] = []
        self._sent: Dict[int, tuple[Giving, int, int]] = {}
        self._waiting: Deque[Question] = deque()
        self._asked: Dict[int, Question] = {}
        self._wants: Dict[str, Object] = {}
        self._wantDue: Dict[str, float] = {}
        self._pauses: Dict[str, tuple[float, str]] = {}
        self._commands: Dict[int, Command] = {}

    # Requests of a client

    def give(self, records: Iterable[Object], backfill: bool = False) -> Giving:
        giving = Giving(records, backfill)
        if giving.texts:
            self._givings.append(giving)
        else:
            giving.end([])
        return giving

    def ask(self, body: Object, verb: str = "QUERY") -> Question:
        question = Question(verb, body)
        encode(body, verb)
        self._waiting.append(question)
        return question

    def want(self, body: Object) -> None:
        encode(body, "WANT")
        self._wants[body["want"]] = body
        if self._isOpen:
            self._say("WANT", body)

    def tell(self, verb: str, body: Object) -> bool:
        """LIVE and EVENT, which have no answer; whether there was a session to send them in."""
        text = encode(body, verb)
        if self._isOpen:
            self.outgoing.append([verb.encode(), text])
        return self._isOpen

    def pauseLeft(self, delivery: Delivery, now: float) -> Optional[Pause]:
        """The rest of the pause of the delivery's subscription, in which `deliver` is not called."""
        until, reason = self._pauses.get(delivery.want, (0.0, ""))
        return Pause(until - now, reason) if now < until else None

    def paused(self, delivery: Delivery, pause: Pause, now: float) -> None:
        """Answers a delivery of a sink whose target is away."""
        self._pauses[delivery.want] = (now + pause.seconds, pause.reason)
        retry: Object = {"result": "retry", "after": max(100, int(pause.seconds * 1000)), "reason": pause.reason}
        self.done(delivery, [retry for _ in delivery.records], pause.seconds)

    def done(self, delivery: Delivery, results: List[Object], pause: Optional[float] = None) -> None:
        """Answers a delivery, `pause` in seconds. In a later session than the delivery's it does nothing: the hub
        repeats deliveries without an answer."""
        if len(results) != len(delivery.records):
            raise HubError(
                "field", f"{delivery.want}: {len(delivery.records)} records were delivered, {len(results)} results came")
        if self._isNow(delivery.session):
            body: Object = {
                "want": delivery.want, "delivery": delivery.number, "results": results,
                "credit": {"records": len(delivery.records), "bytes": delivery.size}}
            if pause is not None:
                body["pause"] = max(100, int(pause * 1000))
            self._say("DONE", body)

    def progress(self, command: Command, done: float, total: Optional[float], text: Optional[str]) -> None:
        if self._isNow(command.session) and command.id in self._commands:
            more = {name: value for name, value in (("total", total), ("text", text)) if value is not None}
            self._say("PROGRESS", {"id": command.id, "done": done, **more})

    def outcome(self, command: Command, outcome: str, **members: Any) -> None:
        """`outcome` is `done` (with `result`), `failed` (with `code` and `reason`) or `cancelled`."""
        if self._isNow(command.session) and command.id in self._commands:
            del self._commands[command.id]
            self._say("OUTCOME", {"id": command.id, "outcome": outcome, **members})

    def bye(self) -> None:
        if self._isOpen:
            self._say("BYE", {})
        else:
            self.isOver = True

    def lose(self) -> None:
        """The hub is away or has forgotten this session; open requests wait for the next one."""
        self._isOpen = False
        self.outgoing.clear()

    # Time

    def turn(self, now: float) -> float:
        if self.failure or self.isOver:
            return 1.0
        if not self._isOpen:
            if now - self._greeted >= 2:
                self._greeted = now
                self._say("HELLO", self.hello)
            return max(0.01, self._greeted + 2 - now)
        assert self.welcome
        beat = self.welcome["heartbeat"]
        if now - self._heard > beat["timeout"] / 1000:
            self.lose()
            self._greeted = -1e9
            return 0.0
        # If a call waits for an answer, check sooner whether the hub has been restarted.
        waits = bool(self._sent or self._asked)
        interval = float(beat["interval"]) / 1000
        if waits:
            interval = min(1.0, interval)
        if now - max(self._heard, self._pinged) >= interval:
            self._pinged = now
            self._say("PING", {})
        due = max(self._heard, self._pinged) + interval
        for name, moment in list(self._wantDue.items()):
            if now >= moment:
                del self._wantDue[name]
                self._say("WANT", self._wants[name])
            else:
                due = min(due, moment)
        if now >= self._hold:
            self._fill()
        else:
            due = min(due, self._hold)
        for question in list(self._waiting):
            if question.due > now:
                due = min(due, question.due)
                continue
            isQuery = question.verb == "QUERY"
            most = self.welcome["limits"]["queries"] if isQuery else _TOKENS
            if sum((other.verb == "QUERY") == isQuery for other in self._asked.values()) < most:
                self._waiting.remove(question)
                question.id = self._next()
                self._asked[question.id] = question
                self._say(question.verb, {"id": question.id, **question.body})
        return max(0.0, due - now)

    def connected(self) -> None:
        """There is another connection: if a session is open, the answer to PING shows whether the hub knows it."""
        if self._isOpen:
            self._say("PING", {})

    def refuse(self, error: HubError) -> None:
        """The hub refuses this program's log-in: there is nothing to wait for."""
        if self.failure is None:
            self._fail(error)

    def refused(self, now: float) -> None:
        """There is no connection for the messages to send: try again soon."""
        self.lose()
        self._greeted = now - 1.9

    # Messages

    def receive(self, frames: List[bytes], now: float) -> None:
        if self.failure:
            return
        try:
            self._receive(frames, now)
        except HubError as error:
            self._fail(error)

    def _receive(self, frames: List[bytes], now: float) -> None:
        if len(frames) != 2:
            raise HubError("protocol", f"the hub sent a message of {len(frames)} frames; a verb and a body are two")
        verb = frames[0].decode("ascii", "replace")
        handle = getattr(self, "_on" + verb, None) if verb.isalpha() and verb.isupper() else None
        if handle is None:
            return  # a verb of a newer protocol
        try:
            body = json.loads(frames[1])
        except ValueError as error:
            raise HubError("protocol", f"the hub's {verb} is not JSON: {error}") from None
        if not isinstance(body, dict):
            raise HubError("protocol", f"the hub's {verb} is not a JSON object")
        self._heard = now
        handle(body, now, len(frames[1]))

    def _onWELCOME(self, body: Object, now: float, size: int) -> None:
        session = member(body, "WELCOME.session", str)
        for path in ("limits.batchRecords", "limits.frameBytes", "limits.queries", "credit.records", "credit.bytes",
                     "heartbeat.interval", "heartbeat.timeout"):
            member(body, "WELCOME." + path, int)
        member(body, "WELCOME.epoch", str)
        isAnother = self.welcome is None or self.welcome["session"] != session
        self.welcome, self._isOpen = body, True
        if not isAnother:
            return
        self.sessions += 1
        self.isStopping = False
        self._records, self._bytes = body["credit"]["records"], body["credit"]["bytes"]
        self._hold = 0.0
        self._rewind()
        asked, self._asked = self._asked, {}
        for question in reversed(asked.values()):
            if question.verb == "TOKEN-PUT":
                question.end(error=HubError("lost", "the session ended before the hub answered: ask which token it has"))
            else:
                self._waiting.appendleft(question)
        self.inbox.clear()
        for command in self._commands.values():
            command.isCancelled = True
        self._commands.clear()
        for want in self._wants.values():
            self._say("WANT", want)

    def _onSTORED(self, body: Object, now: float, size: int) -> None:
        sent = self._sent.pop(member(body, "STORED.batch", int), None)
        self._earn(body)
        if sent is None:
            return  # it was sent again since then
        giving, start, end = sent
        results = member(body, "STORED.results", list)
        if len(results) != end - start:
            raise HubError("protocol", f"STORED.results has {len(results)} results for {end - start} records")
        for n, result in enumerate(results):
            if not isinstance(result, dict) or result.get("result") not in _RESULTS:
                raise HubError("protocol", f"STORED.results[{n}].result is none of {', '.join(_RESULTS)}")
        giving.results += results
        if len(giving.results) == len(giving.texts):
            self._givings.remove(giving)
            giving.end(giving.results)

    def _onRESULT(self, body: Object, now: float, size: int) -> None:
        self._answer(member(body, "RESULT.id", int), body)

    def _onTOKEN(self, body: Object, now: float, size: int) -> None:
        self._answer(member(body, "TOKEN.id", int), body)

    def _answer(self, id: int, body: Object) -> None:
        question = self._asked.pop(id, None)
        if question:
            question.end(body)

    def _onDELIVER(self, body: Object, now: float, size: int) -> None:
        records = member(body, "DELIVER.records", list)
        want, number = member(body, "DELIVER.want", str), member(body, "DELIVER.delivery", int)
        if self.welcome is None:
            raise HubError("protocol", "the hub sent DELIVER before WELCOME")
        self.inbox.append(Delivery(want, number, records, size, self.welcome["session"]))

    def _onCOMMAND(self, body: Object, now: float, size: int) -> None:
        id = member(body, "COMMAND.id", int)
        if "command" in body and self.welcome:
            command = Command(id, member(body, "COMMAND.command", str),
                              member(body, "COMMAND.args", dict) if "args" in body else {},
                              body.get("dryRun") is True, self.welcome["session"])
            self._commands[id] = command
            self.inbox.append(command)
        elif body.get("cancel") and id in self._commands:
            self._commands[id].isCancelled = True

    def _onPING(self, body: Object, now: float, size: int) -> None:
        self._say("PONG", body)

    def _onPONG(self, body: Object, now: float, size: int) -> None:
        pass

    def _onSTOP(self, body: Object, now: float, size: int) -> None:
        self.isStopping = True

    def _onBYE(self, body: Object, now: float, size: int) -> None:
        self.lose()
        self.isOver = True

    def _onERROR(self, body: Object, now: float, size: int) -> None:
        code, ref, pause = member(body, "ERROR.code", str), body.get("ref"), body.get("after")
        ref = ref if isinstance(ref, int) else None
        error = HubError(code, str(body.get("reason", "")), body)
        self._earn(body)
        after = now + (pause if isinstance(pause, (int, float)) else 1000) / 1000
        if code == "hello-first":
            if self._isOpen:
                self.lose()
                self._greeted = -1e9
        elif "want" in body:
            if code == "store" and body["want"] in self._wants:
                self._wantDue[body["want"]] = after
            else:
                raise error
        elif body.get("closed"):
            raise error
        elif ref in self._sent:
            if code in ("store", "stopping"):
                # The hub also refuses the batches after it, in their order: send all of them again.
                self._hold = after if code == "store" else float("inf")
                self.isStopping = self.isStopping or code == "stopping"
                self._rewind()
            else:
                giving = self._sent[ref][0]
                self._sent = {n: sent for n, sent in self._sent.items() if sent[0] is not giving}
                self._givings.remove(giving)
                giving.end(error=error)
        elif ref in self._asked:
            question = self._asked.pop(ref)
            if code in ("store", "busy"):
                question.due = after
                self._waiting.appendleft(question)
            else:
                question.end(error=error)
        elif code not in ("store", "stopping"):
            print(f"the hub says: {error}", file=sys.stderr, flush=True)

    # Inside

    def _say(self, verb: str, body: Object) -> None:
        self.outgoing.append([verb.encode(), encode(body, verb)])

    def _next(self) -> int:
        # Batches and questions share one sequence of numbers, because `ref` of an ERROR may be the number of either.
        self._number += 1
        return self._number

    def _isNow(self, session: str) -> bool:
        return self._isOpen and self.welcome is not None and self.welcome["session"] == session

    def _earn(self, body: Object) -> None:
        credit = body.get("credit")
        if isinstance(credit, dict):
            self._records += member(body, "STORED.credit.records", int)
            self._bytes += member(body, "STORED.credit.bytes", int)

    def _rewind(self) -> None:
        for giving, start, _ in self._sent.values():
            giving.next = min(giving.next, start)
        self._sent.clear()

    def _fill(self) -> None:
        """Sends as much as credit and limits allow."""
        assert self.welcome
        limits = self.welcome["limits"]
        for giving in list(self._givings):
            while giving.next < len(giving.texts):
                start = end = giving.next
                size = 100  # for the batch's other members
                while end < len(giving.texts):
                    stop = giving.unitEnd(end)
                    more = size + sum(len(text) + 1 for text in giving.texts[end:stop])
                    if stop - start > limits["batchRecords"] or more > limits["frameBytes"]:
                        if end == start:
                            self._givings.remove(giving)
                            what = f"records[{start}]" + (f" to [{stop - 1}], a group," if stop - start > 1 else "")
                            giving.end(error=HubError(
                                "size", f"{what} {stop - start} records and {more} bytes, do not fit into a batch of "
                                f"{limits['batchRecords']} records and {limits['frameBytes']} bytes"))
                            return
                        break
                    if stop - start > self._records or more > self._bytes:
                        break
                    end, size = stop, more
                if end == start:
                    return  # more credit comes with STORED
                batch = self._next()
                backfill = b',"backfill":true' if giving.backfill else b""
                text = b'{"batch":%d%s,"records":[%s]}' % (batch, backfill, b",".join(giving.texts[start:end]))
                self._sent[batch] = (giving, start, end)
                giving.next = end
                self._records -= end - start
                self._bytes -= len(text)
                self.outgoing.append([b"SAMPLES", text])

    def _fail(self, error: HubError) -> None:
        self.failure = error
        self._isOpen = False
        for pending in [*self._givings, *self._waiting, *self._asked.values()]:
            pending.end(error=error)


class Change:
    """`record` is the newest version of a record, or its retraction (`kind` is `retraction`): it replaces what you
    have under its `number`. If it is None, delete all records: the hub has a new epoch, whose records follow.
    `place` is where to continue: keep it with what you have made of the record, in one transaction."""

    def __init__(self, record: Optional[Object], place: str) -> None:
        self.record, self.place = record, place


class Following:
    """The questions of a follower, and the changes in their answers.

    The feed only wakes the follower, which then asks the door for the records after `place`. So messages that the feed
    drops, their order and their epoch do not matter: the door's answer has each record once.
    """

    def __init__(self, types: Optional[Iterable[str]], place: Optional[str], days: bool) -> None:
        self.types = None if types is None else list(types)
        self.place = place
        self.days = days
        self.hasMore = True

    @property
    def topics(self) -> List[bytes]:
        names = ["sample", "retraction"] + (["day"] if self.days else [])
        return [b"hub/pulse/"] + [
            f"{name}/{type}/".encode() if type else f"{name}/".encode()
            for name in names for type in (self.types if self.types is not None else [""])]

    def question(self, epoch: str) -> Object:
        if self.place is None:
            self.place = epoch + "-0"
        question: Object = {"want": "records", "since": self.place}
        if self.types is not None:
            question["types"] = self.types
        if self.days:
            question["kinds"] = ["quantity", "category", "correlation", "workout", "characteristic", "other", "day"]
        return question

    def answer(self, result: Object) -> Iterable[Change]:
        records, cursor = member(result, "RESULT.records", list), member(result, "RESULT.cursor", str)
        self.hasMore = "next" in result
        epoch = cursor.split("-")[0]
        for record in records:
            place = self.place = f"{epoch}-{member(record, 'RESULT.seq', int)}"
            yield Change(record, place)
        self.place = cursor

    def refused(self, error: HubError) -> Change:
        if error.code != "epoch":
            raise error
        place = self.place = f"{member(error.body, 'ERROR.epoch', str)}-0"
        self.hasMore = True
        return Change(None, place)

    def rings(self, frames: List[bytes]) -> bool:
        if len(frames) != 3 or frames[0] != b"hub/pulse/":
            return True
        try:
            pulse = json.loads(frames[2])
            return f"{pulse['epoch']}-{pulse['head']}" != self.place
        except (ValueError, KeyError, TypeError):
            return True
