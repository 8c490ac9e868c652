/// A good plugin with one fault, and the rule that must find it.
struct BrokenPlugin: Sendable {
    let rule: String
    /// The fault in words.
    let fault: String
    /// Texts of the good program and their replacements.
    private(set) var changes: [(String, String)]
    /// More lines for its section.
    var settings: [String] = []
    /// Whether it logs in, with a token from its stand-in.
    var logsIn = false

    init(_ rule: String, _ fault: String, _ changes: (String, String)..., settings: [String] = []) {
        (self.rule, self.fault, self.changes, self.settings) = (rule, fault, changes, settings)
    }

    /// A sink that asks for its token in each session, and delivers only with that of its stand-in.
    ///
    /// - Parameter changes: Changes to the sink that logs in correctly.
    private init(logIn fault: String, _ changes: (String, String)...) {
        self.init("log-in-lost", fault)
        (self.changes, logsIn) = (Self.logIn + changes, true)
    }

    // MARK: - Sources: changes to the program of Protocol §13.8

    static let sources: [BrokenPlugin] = describing + living + homely + giving + resting

    private static let describing: [BrokenPlugin] = [
        BrokenPlugin("manifest", "no name", (#""name": "weight-file", "#, "")),
        BrokenPlugin("manifest", "a name that is a number", (#""name": "weight-file""#, #""name": 7"#)),
        BrokenPlugin("manifest", "no summary", (#""summary": "Weights of a text file.", "#, "")),
        BrokenPlugin("manifest", "another protocol", (#""protocol": [1], "writes""#, #""protocol": [9], "writes""#)),
        BrokenPlugin("manifest", "an unknown type", (#""writes": ["weight"]"#, #""writes": ["wieght"]"#)),
        BrokenPlugin("manifest", "a setting with capitals", (#""name": "every""#, #""name": "Every""#)),
        BrokenPlugin("manifest", "a key of the hub's as a setting", (#""name": "every""#, #""name": "enabled""#)),
        BrokenPlugin("manifest", "a default outside its bounds", (#""default": 5"#, #""default": 0"#)),
        BrokenPlugin("manifest", "an unknown type of setting", (#""type": "integer""#, #""type": "int""#)),
        BrokenPlugin(
            "manifest", "a secret with a default", (#""type": "integer""#, #""secret": True, "type": "integer""#)),
        BrokenPlugin("manifest", "no JSON", ("print(json.dumps(MANIFEST))", "print(MANIFEST)")),
        BrokenPlugin(
            "manifest", "a line before the JSON",
            ("print(json.dumps(MANIFEST))", "print('hello'); print(json.dumps(MANIFEST))")),
        BrokenPlugin(
            "manifest", "an exit code", ("print(json.dumps(MANIFEST))", "print(json.dumps(MANIFEST)); sys.exit(1)")),
        BrokenPlugin("manifest", "it does not end", ("print(json.dumps(MANIFEST))", "time.sleep(60)")),
        BrokenPlugin(
            "manifest", "it writes to a system folder",
            ("print(json.dumps(MANIFEST))", "open('/usr/hub-was-here', 'w'); print(json.dumps(MANIFEST))")),
        BrokenPlugin(
            "manifest", "it objects to correct settings",
            ("        return [{\"setting\": \"file\"", "        pass\n    return [{\"setting\": \"file\"")),
        BrokenPlugin(
            "describes-only", "a version that is the current time",
            ("print(json.dumps(MANIFEST))", "print(json.dumps(dict(MANIFEST, version=str(time.time()))))")),
        BrokenPlugin("arguments", "every argument is accepted", ("    sys.exit(64)", "    sys.exit(0)")),
        BrokenPlugin(
            "judges-settings", "objections that are not JSON",
            (#"print(json.dumps({"objections": objections(json.load(sys.stdin))}))"#, "print('all is well')")),
        BrokenPlugin(
            "described", "a summary of one letter", (#""summary": "Weights of a text file.""#, #""summary": "w""#)),
        BrokenPlugin("described", "no help", (#""Seconds from one look at the file to the next.""#, #""Every""#)),
    ]

    private static let living: [BrokenPlugin] = [
        BrokenPlugin("greets", "no HELLO", ("    greet()\n    while True", "    while True")),
        BrokenPlugin("greets", "a crash at the start", ("    token = sys", "    raise SystemExit(1)\n    token = sys")),
        BrokenPlugin("greets", "the token is not used", ("token.encode()", #"b"token""#)),
        BrokenPlugin("greets", "another instance name", (#""instance": instance"#, #""instance": "mine""#)),
        BrokenPlugin("greets", "another kind", (#""plugin": MANIFEST["name"]"#, #""plugin": "mine""#)),
        BrokenPlugin("speaks-protocol", "a routing id", ("door.linger = 1000", "door.routing_id = b'me'")),
        BrokenPlugin(
            "speaks-protocol", "three frames", ("json.dumps(body).encode()])", "json.dumps(body).encode(), b'x'])")),
        BrokenPlugin(
            "speaks-protocol", "a batch without a number",
            (#"{"batch": batch + 1, "records": new}"#, #"{"records": new}"#)),
        BrokenPlugin("stops", "no BYE", (#"    say("BYE", {})"#, "    pass")),
        BrokenPlugin(
            "stops", "an error at the end",
            (#"    say("BYE", {})"#, "    say(\"BYE\", {})\n    time.sleep(0.5)\n    sys.exit(3)")),
        BrokenPlugin(
            "stops", "it takes twenty seconds to end",
            (#"    say("BYE", {})"#, "    say(\"BYE\", {})\n    time.sleep(20)")),
        BrokenPlugin(
            "hub-gone", "it reacts only to STOP",
            ("            break  # STOP, or no hub any more", "            poller.unregister(0)")),
        BrokenPlugin(
            "refused", "it repeats HELLO",
            ("                sys.exit(77)", "                time.sleep(0.2)\n                greet()")),
        BrokenPlugin("refused", "another exit code", ("sys.exit(77)", "sys.exit(1)")),
        BrokenPlugin(
            "greets-again", "a lost session is ignored",
            ("                welcome = None\n                greet()", "                pass")),
        BrokenPlugin(
            "answers-pings", "no PONG",
            (#"                door.send_multipart([b"PONG", text])"#, "                pass")),
        BrokenPlugin("answers-pings", "no PING", (#"            say("PING", {})"#, "            pass")),
        BrokenPlugin(
            "silent-hub", "silence is ignored",
            ("            welcome, heard = None, now\n            greet()", "            heard = now")),
        BrokenPlugin(
            "newer-hub", "new members are an error",
            (
                "                welcome, waiting = body, []",
                "                assert 'later' not in body\n                welcome, waiting = body, []"
            )),
        BrokenPlugin(
            "unknown-command", "no answer to a command",
            (
                #""writes": ["weight"], "#,
                #""writes": ["weight"], "commands": [{"name": "look", "help": "Looks at the file."}], "#
            )),
        BrokenPlugin(
            "dry-run", "a dry run that sends records",
            (
                #""writes": ["weight"], "#,
                #""writes": ["weight"], "commands": [{"name": "look", "help": "Looks at the file.", "dryRun": True}], "#
            ),
            (
                #"            elif verb == "PING":"#,
                """
                            elif verb == "COMMAND":
                                say("SAMPLES", {"batch": 99, "records": [{"type": "weight", "value": 1, "unit": "kg",
                                    "start": "2026-03-01T00:30:00+01:00", "key": "dry"}]})
                                say("OUTCOME", {"id": body["id"], "outcome": "done"})
                            elif verb == "PING":
                """
            )),
    ]

    // MARK: - Records

    private static let homely: [BrokenPlugin] = [
        BrokenPlugin(
            "whole-hub", "a key that contains the number of starts",
            (
                "    instance = os.environ[\"HUB_INSTANCE\"]\n",
                """
                    instance = os.environ["HUB_INSTANCE"]
                    with open(os.environ["HUB_STATE"] + "/starts", "a+") as file:
                        file.write("x")
                        os.environ["STARTS"] = str(file.tell())

                """
            ), (#""key": start}"#, #""key": os.environ["STARTS"] + "-" + start}"#)),
        BrokenPlugin(
            "whole-hub", "a lock file that remains after a kill",
            (
                "    token = sys.stdin.readline().strip()\n",
                """
                    token = sys.stdin.readline().strip()
                    busy = os.environ["HUB_STATE"] + "/busy"
                    if os.path.exists(busy):
                        sys.exit(1)
                    open(busy, "w")

                """
            )),
        BrokenPlugin(
            "restored", "only the first epoch is accepted",
            (
                "                welcome, waiting = body, []",
                """
                                known = os.environ["HUB_STATE"] + "/epoch"
                                if os.path.exists(known) and open(known).read() != body["epoch"]:
                                    sys.exit(1)
                                open(known, "w").write(body["epoch"])
                                welcome, waiting = body, []
                """
            )),
        BrokenPlugin(
            "clock", "a key that contains the day of the hub's clock",
            (
                "                welcome, waiting = body, []",
                "                os.environ[\"DAY\"] = body[\"time\"][:10]\n                welcome, waiting = body, []"
            ), (#""key": start}"#, #""key": os.environ["DAY"] + start}"#)),
    ]

    /// Makes the program remember the records that it has sent, whether or not they were stored.
    private static let memory = (
        "welcome, credit, batch, waiting, stored, look = None, {}, 0, [], set(), 0",
        """
        welcome, credit, batch, waiting, stored, look = None, {}, 0, [], set(), 0
            memory = os.environ["HUB_STATE"] + "/given"
            if os.path.exists(memory):
                stored = set(open(memory).read().split("\\n"))
        """
    )

    private static let giving: [BrokenPlugin] = [
        BrokenPlugin("gives", "no record is found", ("if not os.path.exists(path):", "if True:")),
        BrokenPlugin(
            "killed", "sent records count as stored", memory,
            (
                "                door.send_multipart([b\"SAMPLES\", text])",
                "                door.send_multipart([b\"SAMPLES\", text])\n                open(memory, \"a\").write(\"\\n\".join(waiting) + \"\\n\")"
            )),
        BrokenPlugin(
            "stopped", "records that wait at the end count as stored", memory,
            (
                #"    say("BYE", {})"#,
                "    open(memory, \"a\").write(\"\\n\".join(waiting) + \"\\n\")\n    say(\"BYE\", {})"
            )),
        BrokenPlugin(
            "lost-session", "WELCOME counts as STORED",
            (
                "                welcome, waiting = body, []",
                "                stored |= set(waiting)\n                welcome, waiting = body, []"
            )),
        BrokenPlugin(
            "full-disk", "ERROR store counts as STORED",
            (
                "                waiting, look = [], time",
                "                stored |= set(waiting)\n                waiting, look = [], time"
            )),
        BrokenPlugin(
            "full-disk", "ERROR store is answered at once with the same batch",
            (
                "                waiting, look = [], time.monotonic() + body[\"after\"] / 1000",
                "                waiting, look = [], 0"
            )),
        BrokenPlugin(
            "full-disk", "ERROR store ends the program",
            (
                "                waiting, look = [], time.monotonic() + body[\"after\"] / 1000",
                "                sys.exit(1)"
            )),
        BrokenPlugin(
            "credit", "the credit is ignored",
            (#"new = new[:min(welcome["limits"]["batchRecords"], credit["records"])]"#, "pass")),
        BrokenPlugin(
            "credit", "the limit of a batch is ignored",
            (#"new[:min(welcome["limits"]["batchRecords"], credit["records"])]"#, #"new[:credit["records"]]"#)),
        BrokenPlugin(
            "identity", "a key that changes with each start",
            ("import json, os, sys", "import os; START = os.urandom(4).hex()\nimport json, os, sys"),
            (#""key": start}"#, #""key": start + " " + START}"#)),
        BrokenPlugin("identity", "a random key", (#""key": start}"#, #""key": start + " " + os.urandom(4).hex()}"#)),
        BrokenPlugin(
            "rejected", "a rejected record ends the program",
            (
                "                        print(f\"{key}: {result['reason']}\", file=sys.stderr, flush=True)",
                "                        sys.exit(1)"
            )),
        BrokenPlugin(
            "rejected", "a rejected batch stops the program for a minute",
            (
                "                for key, result in zip(waiting, body[\"results\"]):",
                "                if body[\"results\"][0][\"result\"] == \"rejected\":\n                    time.sleep(60)\n                for key, result in zip(waiting, body[\"results\"]):"
            )),
        BrokenPlugin("times", "times without the local offset", (#""start": start,"#, #""start": start[:19] + "Z","#)),
        BrokenPlugin("times", "times in the future", (#""start": start,"#, #""start": "2199" + start[4:],"#)),
    ]

    // MARK: - Resources and secrets

    private static let resting: [BrokenPlugin] = [
        BrokenPlugin(
            "no-value-in-log", "it prints its records",
            (
                "                credit[\"records\"] -= len(new)",
                "                credit[\"records\"] -= len(new)\n                print(new, file=sys.stderr, flush=True)"
            )),
        BrokenPlugin(
            "no-secret-in-log", "it prints its settings",
            (
                #"        {"name": "every""#,
                #"        {"name": "password", "type": "string", "secret": True, "help": "Of the service."}, {"name": "every""#
            ),
            (
                "                welcome, waiting = body, []",
                "                print(body[\"settings\"], file=sys.stderr, flush=True)\n                welcome, waiting = body, []"
            ),
            settings: [#"password = "correct-horse-4711""#]),
        BrokenPlugin(
            "memory", "it holds memory that it does not need",
            ("    token = sys", "    ballast = b\"x\" * (200 << 20)\n    token = sys")),
        BrokenPlugin("idle", "it polls without a pause", ("poller.poll(1000)", "poller.poll(0)")),
        BrokenPlugin("confined", "it is not confined", settings: ["confine = false"]),
    ]

    // MARK: - Sinks: changes to hub-lines.py

    /// Changes the good sink into one that logs in correctly.
    static let logIn: [(String, String)] = [
        (
            "        if verb == b\"WELCOME\":",
            """
                    if verb == b"TOKEN" and "token" in body:
                        if body["token"]["access_token"] == "let-me-in":
                            allowed = True
                        else:
                            allowed = False
                            say("TOKEN", {"id": 2, "account": "me", "for": "release", "failure": "auth",
                                          "reason": "the token is not accepted", "version": body["version"]})
                    elif verb == b"WELCOME":
                        say("TOKEN", {"id": 1, "account": "me", "for": "use"})
            """
        ),
        ("    silence = 0\n    while", "    silence, allowed = 0, False\n    while"),
        (
            "            results = [",
            """
                        unlike = {"result": "auth", "reason": "log in"}
                        results = [unlike for _ in body["records"]] if not allowed else [
            """
        ),
    ]

    private static let withoutLogIn: [BrokenPlugin] = [
        BrokenPlugin(
            logIn: "without a log-in, records are refused",
            (#"{"result": "auth", "reason": "log in"}"#, #"{"result": "refused", "reason": "401"}"#)),
        BrokenPlugin(
            logIn: "without a log-in, records count as delivered",
            (#"{"result": "auth", "reason": "log in"}"#, #"{"result": "delivered"}"#)),
        BrokenPlugin(logIn: "it exits", ("                allowed = False\n", "                sys.exit(77)\n")),
        BrokenPlugin(
            logIn: "it does not report the refused token",
            (
                #"{"id": 2, "account": "me", "for": "release", "failure": "auth","#,
                #"{"id": 2, "account": "me", "for": "release", "failure": "network","#
            ),
            (#"{"result": "auth", "reason": "log in"}"#, #"{"result": "retry", "after": 60000}"#)),
        BrokenPlugin(
            logIn: "it asks for its token only once",
            (
                #"            say("TOKEN", {"id": 1"#,
                #"            os.environ.pop("HUB_STATE", "") and say("TOKEN", {"id": 1"#
            )),
        BrokenPlugin(
            logIn: "the token is in its log",
            (
                "                allowed = False\n",
                "                allowed = False\n                print(body, file=sys.stderr)\n"
            )),
    ]

    static let sinks: [BrokenPlugin] =
        withoutLogIn + [
            BrokenPlugin("wants", "no WANT", (#"            say("WANT""#, #"            {}.get("WANT""#)),
            BrokenPlugin(
                "wants", "a type that it does not read", (#""types": ["weight"]"#, #""types": ["heartRate"]"#)),
            BrokenPlugin("answers-deliveries", "no DONE", (#"            say("DONE""#, #"            {}.get("DONE""#)),
            BrokenPlugin(
                "answers-deliveries", "one result is missing", (#""results": results"#, #""results": results[1:]"#)),
            BrokenPlugin(
                "answers-deliveries", "every record is refused",
                (#"{"result": "delivered"}"#, #"{"result": "refused", "reason": "no"}"#)),
            BrokenPlugin(
                "answers-deliveries", "a crash at the first record",
                ("    def deliver(record, path):", "    def deliver(record, path):\n        raise ValueError(record)")),
            BrokenPlugin(
                "delivered-twice", "a repeated delivery is an error",
                (
                    #"        lines[str(record["number"])] ="#,
                    "        assert str(record[\"number\"]) not in lines\n        lines[str(record[\"number\"])] ="
                )),
            BrokenPlugin(
                "delivered-twice", "it sends WANT only in its first session",
                (#"            say("WANT", {"#, #"            hello.pop("version") == "1.0" and say("WANT", {"#)),
            BrokenPlugin(
                "stopped-delivery", "a delivery that was begun is refused",
                (
                    #"        lines[str(record["number"])] ="#,
                    "        if os.path.exists(os.environ[\"HUB_STATE\"] + \"/busy\"):\n            return {\"result\": \"refused\", \"reason\": \"it was begun\"}\n        open(os.environ[\"HUB_STATE\"] + \"/busy\" if str(record[\"number\"]) in lines else os.devnull, \"w\")\n        lines[str(record[\"number\"])] ="
                )),
            BrokenPlugin(
                "whole-hub-delivers", "it refuses the records of an unknown source",
                (
                    #"        lines[str(record["number"])] ="#,
                    "        if \"made-up\" == record[\"source\"][\"plugin\"]:\n            return {\"result\": \"refused\", \"reason\": \"a stranger's\"}\n        lines[str(record[\"number\"])] ="
                )),
            BrokenPlugin(
                "newer-records", "new members are an error",
                (
                    "    def deliver(record, path):",
                    "    def deliver(record, path):\n        if \"later\" in record:\n            return {\"result\": \"refused\", \"reason\": \"later\"}"
                )),
        ]
}
