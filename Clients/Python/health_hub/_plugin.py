"""The main function of a program that the hub starts (Protocol §13)."""
from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
from typing import Any, Callable, List, Optional

from ._aio import AsyncHub
from ._core import HubError, Object
from ._sync import Hub


class SettingsError(Exception):
    """The settings are wrong, and a person has to correct them: exit code 78."""


def plugin(manifest: Object, run: Callable[[Any], Any],
           objections: Optional[Callable[[Object], List[Object]]] = None) -> int:
    """Carries out the program's argument, and returns the exit code: `sys.exit(plugin(MANIFEST, run))`.

    - manifest: Protocol §13.3, a dict.
    - run: called with a Hub that has a session, or an AsyncHub if it is `async def`. Its settings are
      `hub.welcome["settings"]`, its folder is `os.environ["HUB_STATE"]`. It returns when `hub.serve()` returns False.
    - objections: returns the faults of settings, `[{"setting": "file", "reason": "…"}]`; needs `checksSettings`.
    """
    arguments = sys.argv[1:]
    if arguments == ["--describe"]:
        print(json.dumps(manifest))
        return 0
    if arguments == ["--check-settings"]:
        print(json.dumps({"objections": objections(json.load(sys.stdin)) if objections else []}))
        return 0
    if arguments != ["--run"]:
        print(f"{manifest['name']} {manifest['version']}: {manifest['summary']}\nThe hub starts it with --run; "
              "--describe prints what it is, --check-settings reads settings and says what is wrong.", file=sys.stderr)
        return 64
    # Not by sys.stdin, which would read ahead: the program later waits for the end of stdin.
    token = b""
    while not token.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            return 75
        token += byte
    members = {name: manifest[name] for name in ("reads", "writes", "declares") if name in manifest}
    options: Any = {"plugin": manifest["name"], "version": manifest["version"], "token": token.decode().strip(),
                    "members": members, "isLaunched": True}
    try:
        if inspect.iscoroutinefunction(run):
            return asyncio.run(_runAsync(run, options))
        with Hub(**options) as hub:
            try:
                hub.welcome
                run(hub)
            except HubError as error:
                if error.code != "stopping":
                    raise
        return 0
    except SettingsError as error:
        print(error, file=sys.stderr, flush=True)
        return 78
    except HubError as error:
        print(error, file=sys.stderr, flush=True)
        return 76 if error.code == "protocol" else 77


async def _runAsync(run: Callable[[Any], Any], options: Any) -> int:
    async with AsyncHub(**options) as hub:
        try:
            await hub.welcome()
            await run(hub)
        except HubError as error:
            if error.code != "stopping":
                raise
    return 0
