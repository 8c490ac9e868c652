#!/usr/bin/env python3
"""A phone with Health Auto Export for some days: overlapping windows, retries, cut connections, an hour that grows.

    phone.py PORT TOKEN DAYS SEED

When everything was answered with 2xx, it prints one JSON object: the records that must be stored, by key.
"""
import datetime, json, random, socket, sys, time, urllib.error, urllib.request

port, token, days, seed = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
dice = random.Random(seed)
begin = datetime.datetime.now(datetime.timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0) - datetime.timedelta(days=days)
stamp = lambda moment: moment.astimezone(datetime.timezone(datetime.timedelta(hours=1))).strftime("%Y-%m-%d %H:%M:%S +0100")
key = lambda moment: moment.strftime("%Y%m%dT%H%M%SZ")

# The watch measures single heart rates, and steps, which the phone adds up by the hour.
beats = [(begin + datetime.timedelta(minutes=10 * n), 50 + dice.randrange(90)) for n in range(days * 144)]
steps = [(begin + datetime.timedelta(minutes=30 * n + 5), dice.randrange(1, 900)) for n in range(days * 48)]
attempts, failures, repeats = 0, 0, 0


def body(until, window):
    since = until - window
    hours = {}
    for moment, count in steps:
        if since.replace(minute=0) <= moment < until:
            hour = moment.replace(minute=0)
            hours[hour] = hours.get(hour, 0) + count
    heart = [{"date": stamp(m), "Min": v, "Avg": v, "Max": v, "source": "Mira\u2019s Watch"} for m, v in beats if since <= m < until]
    dice.shuffle(heart)
    samples = {"data": {"metrics": [{"name": "heart_rate", "units": "count/min", "data": heart}]}}
    sums = {"data": {"metrics": [{"name": "step_count", "units": "count", "data": [
        {"qty": float(count), "date": stamp(hour), "source": "Watch|Phone"} for hour, count in hours.items()]}]}}
    return samples, sums


def post(payload, grouping):
    """Sends one request like the app. Now and then the request is cut, or the app does not wait for the answer."""
    global attempts, failures
    text = json.dumps(payload, indent=1).encode()
    attempts += 1
    fate = dice.random()
    if fate < 0.1:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as wire:
                head = (f"POST /ingest/hae HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer {token}\r\n"
                        f"automation-aggregation: {grouping}\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n")
                sent = text if fate < 0.05 else text[: len(text) // 2]
                wire.sendall(head.encode() + sent)
        except OSError:
            pass
        failures += 1
        return False
    request = urllib.request.Request(f"http://127.0.0.1:{port}/ingest/hae", text, {
        "Authorization": f"Bearer {token}", "Content-Type": "application/json", "automation-aggregation": grouping})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            report = json.load(answer)
            assert report["rejected"] == [], report
            return 200 <= answer.status < 300
    except (urllib.error.URLError, OSError):
        failures += 1
        return False


moment = begin
while moment < begin + datetime.timedelta(days=days):
    moment = min(moment + datetime.timedelta(hours=dice.choice([1, 1, 2, 5, 9])), begin + datetime.timedelta(days=days))
    samples, sums = body(moment, datetime.timedelta(days=2))
    for payload, grouping in ((samples, "Default"), (sums, "Hours")):
        # The window of the next run would repair a failure, but the last run has no next one.
        last = moment >= begin + datetime.timedelta(days=days)
        for _ in range(1000 if last else 3):
            if post(payload, grouping):
                break
            time.sleep(0.1)
            repeats += 1

# Send everything once more, as after a reinstallation, until it is accepted.
samples, sums = body(begin + datetime.timedelta(days=days), datetime.timedelta(days=days))
for payload, grouping in ((samples, "Default"), (sums, "Hours")):
    while not post(payload, grouping):
        time.sleep(0.1)
expected = {f"{key(m)} heartRate": v for m, v in beats}
hours = {}
for m, count in steps:
    hours[key(m.replace(minute=0))] = hours.get(key(m.replace(minute=0)), 0) + count
expected.update({f"{hour} stepCount h": count for hour, count in hours.items()})
print(json.dumps({"expected": expected, "attempts": attempts, "failures": failures, "repeats": repeats}))
