"""The hub's address, and sockets to it."""
from __future__ import annotations

import json
import os
from typing import Any, List, Optional

import zmq
from zmq.utils.monitor import parse_monitor_message

from ._core import HubError, Object, Session


class Place:
    """The hub's two endpoints and the credentials for them.

    Defaults: `key` is the file that HUB_KEY names (`hub keys new`), and `door`, `feed` and `instance` are
    those of the key file, or HUB_DOOR, HUB_FEED and HUB_INSTANCE of the environment (`hub status --env`).
    """

    def __init__(self, instance: Optional[str], door: Optional[str], feed: Optional[str], key: Optional[str],
                 token: Optional[str]) -> None:
        path = key or (None if door else os.environ.get("HUB_KEY"))
        self.key: Object = {}
        if path:
            with open(path, encoding="utf-8") as file:
                self.key = json.load(file)
            missing = [name for name in ("serverKey", "publicKey", "secretKey", "door", "instance") if name not in self.key]
            if missing:
                raise HubError("key", f"{path} lacks {', '.join(missing)}: hub keys new NAME makes such a file")
        self.token = token
        self.instance = str(instance or self.key.get("instance") or os.environ.get("HUB_INSTANCE", ""))
        self.door = str(door or self.key.get("door") or os.environ.get("HUB_DOOR", ""))
        self.feed: Optional[str] = feed or (self.key.get("feed") if path else os.environ.get("HUB_FEED"))
        if not self.instance:
            raise HubError("instance", "no instance: give one, such as Hub('kitchen'), or set HUB_INSTANCE")
        if not self.door:
            raise HubError("door", 'no door: eval "$(hub status --env)" sets HUB_DOOR, and HUB_KEY names a key file')

    def _prove(self, socket: Any) -> None:
        socket.linger = 0
        if self.token is not None:
            socket.plain_username, socket.plain_password = self.instance.encode(), self.token.encode()
        if self.key:
            socket.curve_serverkey = self.key["serverKey"].encode()
            socket.curve_publickey = self.key["publicKey"].encode()
            socket.curve_secretkey = self.key["secretKey"].encode()

    def openDoor(self, context: Any) -> Any:
        socket = context.socket(zmq.DEALER)
        self._prove(socket)
        # Without a connection ZeroMQ must not queue a message, because the hub would not know its session: the next
        # session repeats every open request. The hub's credit limits the messages in transit, so the queues never fill.
        socket.setsockopt(zmq.IMMEDIATE, 1)
        socket.sndhwm = socket.rcvhwm = 10_000
        socket.reconnect_ivl, socket.reconnect_ivl_max = 50, 1_000
        socket.connect(self.door)
        return socket

    def watch(self, door: Any) -> Any:
        """The socket that reports the result of each handshake. Without it a log-in that the hub refuses, such as with a
        key that was revoked, looks like a hub that is away."""
        return door.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_HANDSHAKE_FAILED_AUTH)

    def hearHandshake(self, frames: List[bytes], session: Session) -> None:
        kind = parse_monitor_message(frames)["event"]
        if kind == zmq.EVENT_HANDSHAKE_SUCCEEDED:
            session.connected()
        elif kind == zmq.EVENT_HANDSHAKE_FAILED_AUTH:
            what = f"the key of {self.instance} (any more): hub keys list shows the keys" if self.key else "this launch token"
            session.refuse(HubError("forbidden", f"the hub at {self.door} does not know {what}"))

    def openFeed(self, context: Any, topics: List[bytes]) -> Any:
        if not self.feed:
            return None
        socket = context.socket(zmq.SUB)
        self._prove(socket)
        socket.rcvhwm = 1_000  # the follower asks the door for messages that were dropped
        socket.reconnect_ivl, socket.reconnect_ivl_max = 50, 1_000
        for topic in topics:
            socket.subscribe(topic)
        socket.connect(self.feed)
        return socket


def hello(place: Place, plugin: Optional[str], version: str, members: Object) -> Object:
    return {"protocol": [1], "instance": place.instance, "plugin": plugin or place.instance, "version": version, **members}
