#!/usr/bin/env python3
"""Measures, with a real hub and the real plugin, the time to deliver the records of a week without the centre, and the plugin's memory.
Prints a line of NAME VALUE each. Started by `bench`, on the client host of a cluster that is up and prepared.   cluster on W python3 week.py --hubs 1 --records 140000 --pause 0"""
import re, subprocess, sys, time
from hubs import House, args, eventually
from idle import delivered, measure


def plugin(house):
    return next((p for p in (house.status() or {}).get("plugins", []) if p["name"] == "central" and p["alive"]), None)


def resident(house):
    """The plugin's resident memory in MiB: all of it, and the part without pages of files."""
    text = open(f"/proc/{plugin(house)['pid']}/status").read()
    return [int(re.search(rf"{name}:\s+(\d+) kB", text)[1]) / 1024 for name in ("VmRSS", "RssAnon")]


def main():
    house = House(900)
    try:
        house.enrol()
        house.give()
        if house.failure:
            raise RuntimeError(house.failure)
        begin = time.time()
        house.agree()
        eventually("the week is delivered", lambda: delivered(house) >= args.records and house.settled(), 600)
        seconds = time.time() - begin
        print("week.seconds", seconds)
        print("week.records_per_s", args.records / seconds)
        time.sleep(5)
        print("week.after_mib", resident(house)[0])
        house.stop()
        house.start()
        eventually("the plugin runs", lambda: plugin(house))
        house.say("do", "central", "studies")      # it is connected
        time.sleep(5)
        for name, size in zip(("resident_mib", "own_mib"), resident(house)):
            print(f"idle.{name}", size)
        house.stop()
        try:
            for name, value in measure(house, 5_000).items():
                print(f"idle.{name}", value)
        except (OSError, RuntimeError, subprocess.SubprocessError) as e:     # the other figures are still valid
            print(f"the memory group: {e}", file=sys.stderr)
    finally:
        house.stop()


if __name__ == "__main__":
    sys.exit(main())
