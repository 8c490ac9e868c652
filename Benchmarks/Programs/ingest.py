#!/usr/bin/env python3
"""Posts like a phone with Health Auto Export: single heart rates, 50,000 to a post, all made before the clock starts.

    ingest.py PORT TOKEN RECORDS

Prints records_per_s, from the first byte that is sent to the last answer, and posts_ms, the slowest of the posts.
"""
import datetime, http.client, json, sys, time

port, token, records = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
size = 50_000
begin = datetime.datetime(2025, 1, 1, tzinfo=datetime.timezone.utc)
bodies = []
for first in range(0, records, size):
    points = []
    for number in range(first, min(records, first + size)):
        moment = begin + datetime.timedelta(seconds=5 * number)
        value = 50 + number * 7 % 90
        points.append({
            "date": moment.strftime("%Y-%m-%d %H:%M:%S +0000"), "Min": value, "Avg": value, "Max": value,
            "source": "Mira\u2019s Apple Watch"})
    bodies.append(json.dumps({"data": {"metrics": [{"name": "heart_rate", "units": "count/min", "data": points}]}},
                             ensure_ascii=False, indent=2).encode())

for _ in range(200):
    try:
        wire = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        wire.connect()
        break
    except OSError:
        time.sleep(0.05)
stored, slowest = 0, 0.0
start = time.monotonic()
for body in bodies:
    before = time.monotonic()
    wire.request("POST", "/ingest/hae", body, {
        "Authorization": "Bearer " + token, "Content-Type": "application/json", "automation-aggregation": "Default"})
    answer = wire.getresponse()
    report = json.loads(answer.read())
    if answer.status != 200 or report["rejected"]:
        sys.exit(f"{answer.status}: {report}")
    stored += report["stored"]
    slowest = max(slowest, time.monotonic() - before)
seconds = time.monotonic() - start
if stored != records:
    sys.exit(f"{stored} of {records} were stored")
print("records_per_s", records / seconds)
print("post_ms", slowest * 1000)
print("bytes", sum(len(body) for body in bodies))
