"""A client of the health hub: give records, follow, ask, take deliveries, answer commands, be a plugin.

Records are dicts with the members of Docs/Samples.md. Times are RFC 3339 texts with an offset, values are in the
`unit` beside them. `Hub` waits in each call; `AsyncHub` has the same calls for asyncio; `plugin` is the main function
of a program that the hub starts. All errors of the hub, and faults in its messages, are `HubError`.
"""
from ._aio import AsyncHub
from ._core import Change, Command, Delivery, HubError, Object, Pause, Result
from ._plugin import SettingsError, plugin
from ._spool import Spool
from ._sync import Hub

__all__ = [
    "AsyncHub", "Change", "Command", "Delivery", "Hub", "HubError", "Object", "Pause", "Result", "SettingsError",
    "Spool", "plugin",
]
