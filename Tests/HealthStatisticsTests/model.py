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


def statistics(question):
    """Of the records of one type that the store has been given: a row for each interval that has something, and between them."""
    style, low, high = question["style"], question.get("from"), question.get("to")
    records = [r for r in world[question["type"]] if question.get("plugin") in (None, r["plugin"])]
    zone, unit, count = question.get("zone"), question.get("unit"), question.get("count")
    if not records:
        return []
    ends = [r["end"] if style == "cumulative" and r["end"] > r["start"] else r["start"] + 1 for r in records]
    begin = max(low, min(r["start"] for r in records)) if low is not None else min(r["start"] for r in records)
    end = min(high, max(ends)) if high is not None else max(ends)
    if begin >= end:
        return []
    if unit is None:
        spans = [(low if low is not None else begin, high if high is not None else max(ends))]
    else:
        walls = {"zone": zone, "anchor": question["anchor"] // MICRO, "count": count, "unit": unit}
        longest = {"hour": 3600, "day": 90000, "week": 608400, "month": 2682000, "year": 31626000}[unit] * count
        number = (begin // MICRO - walls["anchor"]) // longest - 1
        while borders({**walls, "numbers": [number]})[0] * MICRO > begin:
            number -= 1
        while borders({**walls, "numbers": [number + 1]})[0] * MICRO <= begin:
            number += 1
        spans = []
        while True:
            first, after = (b * MICRO for b in borders({**walls, "numbers": [number, number + 1]}))
            if first >= end:
                break
            spans.append((max(first, low) if low is not None else first, min(after, high) if high is not None else after))
            number += 1
    rows = [row(records, style, *span) for span in spans]
    full = [n for n, r in enumerate(rows) if r["count"] or r["value"] is not None]
    if not full:
        return []
    if unit is None:
        first, after = spans[0]
        there = [r for r in records if first <= r["start"] < after or style == "cumulative" and r["start"] < first < r["end"]]
        if low is None:
            rows[0]["from"] = min(r["start"] for r in there)
        if high is None:
            rows[0]["to"] = max(max(r["end"], r["start"] + 1) for r in there)
    return rows[full[0]:full[-1] + 1]


def row(records, style, low, high):
    inside = sorted((r for r in records if low <= r["start"] < high), key=lambda r: (r["start"], r["number"]))
    answer = {"from": low, "to": high, "count": len(inside), "value": None, "least": None, "latest": None}
    if inside:
        answer["latest"] = max(inside, key=lambda r: (r["end"], r["start"], r["number"]))["number"]
    if style == "cumulative":
        near = [r for r in records if r["start"] < high and (r["end"] > low or low <= r["start"])]
        answer["value"] = totals({"pieces": near, "borders": [low, high]})[0]
    elif inside:
        later = sorted(r["start"] for r in records if r["start"] > inside[-1]["start"])
        mean = levels({"levels": inside, "style": style, "following": later[0] if later else None})
        answer["value"], answer["least"] = mean[0], mean[1]
    return answer


MICRO = 1_000_000
world = {}

for line in sys.stdin:
    question = json.loads(line)
    if question["ask"] == "world":
        world = question["world"]
        continue
    answer = {"totals": totals, "levels": levels, "borders": borders, "statistics": statistics}[question["ask"]](question)
    print(json.dumps(answer), flush=True)
