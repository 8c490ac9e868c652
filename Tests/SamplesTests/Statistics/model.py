"""Implements the rules of Docs/Statistics.md independently of the hub, with pandas. Reads a question per line on stdin, prints an answer per line."""
import json
import math
import sys
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

MICRO = 1_000_000
HOUR = 3_600
EPOCH = pd.Timestamp(0, tz="UTC")
# The minimum and maximum length of an interval in seconds.
LENGTHS = {
    "hour": (HOUR, HOUR), "day": (22 * HOUR, 26 * HOUR), "week": (166 * HOUR, 170 * HOUR),
    "month": (671 * HOUR, 745 * HOUR), "year": (8759 * HOUR, 8785 * HOUR),
}
HOLD = 300_000_000
LONGEST = 86_400_000_000


def rank_of(piece):
    return piece["rank"]


def agree(one, other):
    return (
        abs(one["value"] - other["value"]) <= 0.0005 * max(abs(one["value"]), abs(other["value"]))
        and (one["end"] == other["end"] or one["start"] in (one["end"], other["end"])))


def without_mirrors(pieces):
    """Goes through the records that begin together, source by source. Keeps each record that agrees with no record of a better source that is still unpaired."""
    kept, together = [], {}
    for piece in pieces:
        together.setdefault(piece["start"], []).append(piece)
    for start, group in together.items():
        counting = []
        for rank in sorted({piece["rank"] for piece in group}):
            free, own = list(counting), [piece for piece in group if piece["rank"] == rank]
            for piece in sorted(own, key=lambda p: (p["end"] == start, p["value"], p["end"], p["number"])):
                fits = [other for other in free if agree(piece, other)]
                if fits:
                    free.remove(min(fits, key=lambda p: (
                        piece["end"] != start and p["end"] != piece["end"], p["value"], p["end"], p["number"])))
                else:
                    counting.append(piece)
        kept += counting
    return kept


def counted(piece, time):
    passed, length = time - piece["start"], piece["end"] - piece["start"]
    return piece["value"] if passed == length else piece["value"] * (passed / length)


def totals(question):
    return sums(without_mirrors(question["pieces"]), question["borders"])


def sums(standing, edges):
    answers = []
    for low, high in zip(edges, edges[1:]):
        pieces = [p for p in standing if p["start"] < high and (p["end"] > low or p["start"] >= low)]
        cuts = sorted({low, high, *(t for p in pieces for t in (p["start"], p["end"]) if low < t < high)})
        terms = []
        longs = [p for p in pieces if p["end"] > p["start"]]
        starts, ends = (np.array([p[name] for p in longs], "int64") for name in ("start", "end"))
        for begin, end in zip(cuts, cuts[1:]):
            there = [longs[n] for n in np.flatnonzero((starts <= begin) & (end <= ends))]
            best = min(map(rank_of, there), default=0)
            for piece in there:
                if piece["rank"] == best:
                    terms += [counted(piece, end), -counted(piece, begin)]
        for piece in (p for p in pieces if p["start"] == p["end"]):
            at = piece["start"]
            over = [p for p in pieces if p["start"] <= at < p["end"] and p["rank"] < piece["rank"]]
            if low <= at < high and not over:
                terms.append(piece["value"])
        answers.append(math.fsum(terms) if terms else None)
    return answers


def borders(question):
    """By the clock on the wall; a time that the clocks leave out comes as much later as they are put forward."""
    zone, steps = ZoneInfo(question["zone"]), np.array(question["numbers"]) * question["count"]
    anchor, unit = question["anchor"], question["unit"]
    if unit == "hour":
        return (anchor + steps * 3600).tolist()
    wall = pd.Timestamp(anchor, unit="s", tz="UTC").tz_convert(zone).tz_localize(None)
    if unit in ("day", "week"):
        walls = wall + pd.to_timedelta(steps * (7 if unit == "week" else 1), unit="D")
    else:
        walls = pd.DatetimeIndex([wall + pd.DateOffset(months=int(n) * (12 if unit == "year" else 1)) for n in steps])

    def there(walls, **rule):
        return walls.tz_localize(zone, ambiguous=np.ones(len(walls), bool), **rule)

    forward = there(walls, nonexistent="shift_forward").tz_localize(None)
    before = there(walls, nonexistent="shift_backward").tz_localize(None) + pd.Timedelta(1, "ns")
    walls = walls.where(forward == walls, walls + (forward - before).round("s"))
    times = (there(walls, nonexistent="shift_forward").tz_convert("UTC") - EPOCH) // pd.Timedelta(1, "s")
    return np.where(steps == 0, anchor, times).tolist()


def cuts(question, begin, end):
    """The borders from the last one that is not after `begin` to the first one that is not before `end`, in microseconds."""
    anchor, count = question["anchor"] // MICRO, question["count"]
    shortest, longest = (seconds * count for seconds in LENGTHS[question["unit"]])
    low, high = begin // MICRO - anchor, -(-end // MICRO) - anchor
    numbers = range(low // (longest if low > 0 else shortest) - 2, high // (shortest if high > 0 else longest) + 3)
    edges = np.array(borders({**question, "anchor": anchor, "numbers": list(numbers)})) * MICRO
    return edges[np.searchsorted(edges, begin, "right") - 1:np.searchsorted(edges, end) + 1]


def statistics(question):
    """Returns a row for each interval of the records of one type, from the first interval with a record to the last."""
    style, low, high = question["style"], question.get("from"), question.get("to")
    frame = world[question["type"]]
    if question.get("plugin") is not None:
        frame = frame[frame.plugin == question["plugin"]]
    if frame.empty:
        return []
    frame = pd.DataFrame(without_mirrors(frame.to_dict("records")))
    ends = frame.end.where((frame.end > frame.start) & (style == "cumulative"), frame.start + 1)
    begin = int(frame.start.min()) if low is None else max(low, int(frame.start.min()))
    end = int(ends.max()) if high is None else min(high, int(ends.max()))
    if begin >= end:
        return []
    if question.get("unit") is None:
        edges = np.array([begin if low is None else low, ends.max() if high is None else high])
    else:
        edges = cuts(question, begin, end)
        edges[0] = edges[0] if low is None else max(edges[0], low)
        edges[-1] = edges[-1] if high is None else min(edges[-1], high)
    rows = table(frame, style, edges)
    full = np.flatnonzero((rows["count"] > 0) | rows.value.notna())
    if not full.size:
        return []
    rows = rows.astype(object).where(rows.notna(), None).to_dict("records")
    if question.get("unit") is None:
        inside = (frame.start >= edges[0]) & (frame.start < edges[1])
        if style == "cumulative":
            inside |= (frame.start < edges[0]) & (frame.end > edges[0])
        if low is None:
            rows[0]["from"] = int(frame.start[inside].min())
        if high is None:
            rows[0]["to"] = int(frame.end.where(frame.end > frame.start, frame.start + 1)[inside].max())
    return rows[full[0]:full[-1] + 1]


def table(frame, style, edges):
    """A row for each two neighbouring edges."""
    rows = pd.DataFrame({"from": edges[:-1], "to": edges[1:]})
    frame = frame.sort_values(["start", "number"])
    interval = pd.Series(np.searchsorted(edges, frame.start, "right") - 1, frame.index)
    inside = interval.between(0, len(rows) - 1)
    rows["count"] = frame[inside].groupby(interval).size().reindex(rows.index, fill_value=0)
    last = frame[inside].sort_values(["end", "start", "number"]).groupby(interval).number.last()
    rows["latest"] = last.reindex(rows.index).astype("Int64")
    rows["value"], rows["least"] = np.nan, np.nan
    if style == "cumulative":
        rows["value"] = sums(frame.to_dict("records"), edges.tolist())
    elif inside.any():
        groups = frame.assign(weight=weights(frame, style))[inside].groupby(interval)
        rows["value"] = groups.apply(mean, style).reindex(rows.index)
        rows["least"] = groups.value.min().reindex(rows.index)
    return rows


def weights(readings, style, after=None):
    """A reading lasts until the next one begins, but at most its own length, five minutes at least and a day at most."""
    if style == "discreteArithmetic":
        return 1.0
    starts = sorted({*readings.start, *([] if after is None else [after])})
    following = readings.start.map(dict(zip(starts, starts[1:])))
    most = (readings.end - readings.start).clip(HOLD, LONGEST)
    return np.fmin(most, following - readings.start).clip(lower=1)


def mean(readings, style):
    values, is_sound = readings.value.to_numpy(), style == "discreteEquivalentContinuousLevel"
    energies = [10 ** (value / 10) for value in values] if is_sound else values
    answer = math.fsum(energies * readings.weight) / math.fsum(readings.weight)
    if is_sound:
        answer = 10 * math.log10(answer)
    return max(values.min(), min(values.max(), answer))


def levels(question):
    readings, style = pd.DataFrame(question["levels"]), question["style"]
    readings = readings.assign(weight=weights(readings, style, question["following"]))
    return [mean(readings, style), readings.value.min(), readings.value.max()]


world = {}

for line in sys.stdin:
    question = json.loads(line)
    if question["ask"] == "world":
        world = {name: pd.DataFrame(records) for name, records in question["world"].items()}
        continue
    answer = {"totals": totals, "levels": levels, "borders": borders, "statistics": statistics}[question["ask"]](question)
    print(json.dumps(answer), flush=True)
