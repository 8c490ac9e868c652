"""The rules of Docs/Statistics.md said once more, with nothing of the hub: a question a line on stdin, an answer a line on stdout."""
import json
import math
import sys
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

HOLD = 300_000_000
LONGEST = 86_400_000_000


def rank_of(piece):
    return piece["rank"]


def without_mirrors(pieces):
    kept = []
    for piece in sorted(pieces, key=lambda p: (p["start"], p["end"], p["rank"], p["bucket"], p["value"], p["number"])):
        last = kept[-1] if kept else None
        same = last and all(last[n] == piece[n] for n in ("start", "end", "rank", "bucket"))
        if piece["bucket"] or not same or abs(last["value"] - piece["value"]) > 0.0005 * abs(last["value"]):
            kept.append(piece)
    return kept


def counted(piece, time):
    passed, length = time - piece["start"], piece["end"] - piece["start"]
    return piece["value"] if passed == length else piece["value"] * (passed / length)


def totals(question):
    pieces = without_mirrors(question["pieces"])
    answers = []
    for low, high in zip(question["borders"], question["borders"][1:]):
        cuts = sorted({low, high, *(t for p in pieces for t in (p["start"], p["end"]) if low < t < high)})
        terms = []
        for begin, end in zip(cuts, cuts[1:]):
            there = [p for p in pieces if p["start"] <= begin and end <= p["end"]]
            buckets = [p for p in there if p["bucket"]]
            if buckets:
                there = [min(buckets, key=lambda p: (p["end"] - p["start"], p["number"]))]
            best = min(map(rank_of, there), default=0)
            for piece in there:
                if piece["bucket"] or piece["rank"] == best:
                    terms += [counted(piece, end), -counted(piece, begin)]
        for piece in (p for p in pieces if p["start"] == p["end"]):
            at = piece["start"]
            over = [p for p in pieces if p["start"] <= at < p["end"] and (p["bucket"] or p["rank"] < piece["rank"])]
            if low <= at < high and not over:
                terms.append(piece["value"])
        answers.append(math.fsum(terms) if terms else None)
    return answers


def levels(question):
    readings, style, following = question["levels"], question["style"], question["following"]
    starts = sorted({r["start"] for r in readings} | ({following} if following is not None else set()))
    weights, values = [], []
    for reading in readings:
        later = [s for s in starts if s > reading["start"]]
        most = max(HOLD, min(reading["end"] - reading["start"], LONGEST))
        held = min(later[0] - reading["start"], most) if later else most
        weights.append(1.0 if style == "discreteArithmetic" else float(max(1, held)))
        values.append(10 ** (reading["value"] / 10) if style == "discreteEquivalentContinuousLevel" else reading["value"])
    mean = math.fsum(v * w for v, w in zip(values, weights)) / math.fsum(weights)
    if style == "discreteEquivalentContinuousLevel":
        mean = 10 * math.log10(mean)
    plain = [r["value"] for r in readings]
    return [max(min(plain), min(max(plain), mean)), min(plain), max(plain)]


def borders(question):
    zone = ZoneInfo(question["zone"])
    anchor, count, unit = question["anchor"], question["count"], question["unit"]
    wall = datetime.fromtimestamp(anchor, zone)

    def border(number):
        steps = number * count
        if unit == "hour":
            return anchor + steps * 3600
        if steps == 0:
            return anchor
        if unit in ("day", "week"):
            moved = wall.replace(tzinfo=None) + timedelta(days=steps * (7 if unit == "week" else 1))
        else:
            months = wall.year * 12 + wall.month - 1 + steps * (12 if unit == "year" else 1)
            year, month = divmod(months, 12)
            following = datetime(year + (month == 11), month % 12 + 2 if month < 11 else 1, 1)
            last = (following - timedelta(days=1)).day
            moved = wall.replace(tzinfo=None, year=year, month=month + 1, day=min(wall.day, last))
        return int(moved.replace(tzinfo=zone).timestamp())

    return [border(n) for n in question["numbers"]]


for line in sys.stdin:
    question = json.loads(line)
    answer = {"totals": totals, "levels": levels, "borders": borders}[question["ask"]](question)
    print(json.dumps(answer), flush=True)
