import Foundation
import HubStore
import HubWire
import PluginKit
import Samples

// Fills a store, a plugin's state and a file of tokens, with the modules of the commit that `make` builds it with.
// Arguments: a folder, and `closed` (the store is closed) or `killed` (it is left with its log, as after kill -9).
let folder = CommandLine.arguments[1]
let second: Int64 = 1_000_000
let morning: Int64 = 1_757_400_000 * second
var clock = morning
@MainActor func tick() -> Int64 {
    clock += second
    return clock
}

let store = try Store(path: folder + "/hub.sqlite", now: morning)
let people = try await store.ensurePersons(["anna", "ben"], recordedAt: morning)
let (anna, ben) = (Assignment.person(people[0]), Assignment.person(people[1]))
let scale = Source(plugin: "ihealth-hs5", device: "020000003001")
let phone = Source(plugin: "sami", account: "anna@example.org")

func sample(
    _ key: String, _ type: String, _ value: SampleValue, day: Int64, of source: Source = scale, lasting: Int64 = 0,
    zone: String? = nil, subject: Subject? = nil, group: String? = nil, metadata: JSONObject? = nil,
    version: Int64? = nil, offset: Int16 = 120
) throws -> Sample {
    let start = morning + (day - 400) * 86_400 * second
    return Sample(
        source: source, key: RecordKey(key)!, type: try TypeID(type), value: value,
        start: Timestamp(microseconds: start, offsetMinutes: offset),
        end: Timestamp(microseconds: start + lasting * second, offsetMinutes: offset), zone: zone, subject: subject,
        group: group, metadata: metadata, sourceVersion: version)
}

@MainActor func give(_ instance: String, _ items: [IntakeItem]) async throws {
    _ = try await store.commit([IntakeBatch(instance: instance, items: items)], recordedAt: tick())
}

@MainActor func give(_ instance: String, _ records: [Record], _ owner: Assignment) async throws {
    try await give(instance, records.map { .success(IntakeRecord(record: $0, assignment: owner)) })
}

func weight(_ key: String, _ kilograms: Double, day: Int64, version: Int64? = nil) throws -> Record {
    .sample(try sample(key, "weight", .quantity(kilograms, unit: "kg"), day: day, version: version))
}

let exporter = SinkID(instance: "exporter", want: "all")
let weights = SinkID(instance: "exist", want: "weight")
let late = SinkID(instance: "json-lines", want: "all")
_ = try await store.openSink(
    exporter, SinkTerms(target: .init(plugin: "exporter")), from: .beginning, recordedAt: tick())
_ = try await store.openSink(
    weights,
    SinkTerms(
        filter: SinkFilter(types: [try TypeID("weight")], persons: ["anna"]),
        abilities: .init(takesDeletions: false), target: .init(plugin: "exist")),
    from: .now, recordedAt: tick())

// A year of weights of one person, a month of another, and weights whose person is not known.
try await give(
    "ihealth-hs5", try (1...40).map { try weight("anna-\($0)", 62.5 + Double($0 % 8) / 8, day: Int64($0 * 9)) }, anna)
try await give(
    "ihealth-hs5", try (1...12).map { try weight("ben-\($0)", 81 + Double($0 % 4) / 4, day: Int64(300 + $0)) }, ben)
try await give(
    "ihealth-hs5", try (1...5).map { try weight("who-\($0)", 70.25 + Double($0), day: Int64(380 + $0)) },
    .nobody(reason: "several"))
// Values measured together, with the source's metadata, the unit that it wrote, and the bytes that were read.
let together = [
    try sample(
        "g-w", "weight", .quantity(140, unit: "lb"), day: 390, zone: "Europe/Berlin", group: "g1",
        metadata: JSONObject(#"{"HKWasUserEntered":false,"x.note":"nach dem Laufen"}"#)),
    try sample("g-f", "bodyFatPercentage", .quantity(0.215, unit: "%"), day: 390, group: "g1"),
    try sample("g-b", "hc.boneMass", .quantity(3.1, unit: "kg"), day: 390, group: "g1"),
]
try await give(
    "ihealth-hs5",
    [
        .success(
            IntakeRecord(
                record: .sample(together[0]), assignment: anna,
                canonical: .init(value: 63.502932, unit: "kg"), rawPayload: [0xA5, 0, 1, 2, 255])),
        .success(IntakeRecord(record: .sample(together[1]), assignment: anna)),
        .success(IntakeRecord(record: .sample(together[2]), assignment: anna)),
    ])
// Long samples and other kinds of values, from a service.
try await give(
    "sami",
    [
        .sample(
            try sample(
                "night", "sleepAnalysis", .category(name: "asleepCore", raw: 3), day: 391, of: phone, lasting: 25_200)),
        .sample(
            try sample(
                "run", "workoutType", .workout(activity: "running", raw: 37), day: 392, of: phone, lasting: 5_400)),
        .sample(
            try sample("steps", "stepCount", .quantity(10_412, unit: "count"), day: 393, of: phone, lasting: 86_400)),
        .sample(try sample("tale", "x.example.note", .other("forty days"), day: 340, of: phone, lasting: 3_456_000)),
    ], anna)
// New versions, a repeat, a refused record, retractions by the source, and a record that comes back.
try await give(
    "ihealth-hs5", [try weight("anna-3", 99.5, day: 27, version: 2), try weight("anna-4", 61.75, day: 36, version: 2)],
    anna)
try await give(
    "ihealth-hs5", [try weight("anna-3", 63.25, day: 27, version: 3), try weight("anna-5", 63.125, day: 45)], anna)
try await give("ihealth-hs5", [.failure(RecordRejection(.unit, "weight is in kg"))])
for key in ["anna-7", "anna-8", "ben-2"] {
    let retraction = Retraction(
        identity: .sample(scale, RecordKey(key)!), source: scale, reason: "the scale took it back", sourceVersion: 9)
    try await give("ihealth-hs5", [.retraction(retraction)], anna)
}
try await give("ihealth-hs5", [try weight("anna-8", 63.5, day: 72, version: 10)], anna)
// Days: two series, a new version, and a retracted day.
func day(_ date: String, _ value: Double, series: String = "mean30") throws -> DayValue {
    DayValue(
        source: Source(plugin: "gap-filler"), person: "anna", type: try TypeID("weight"), series: series,
        date: LocalDate(date)!, value: value, unit: "kg", method: "mean", basis: [.number(1), .number(2)])
}
let dates = ["2025-08-01", "2025-08-02", "2025-08-03", "2025-08-04", "2025-08-05"]
try await give("gap-filler", try dates.enumerated().map { .day(try day($1, 63 + Double($0) / 4)) }, anna)
try await give("gap-filler", try dates.map { .day(try day($0, 62.875, series: "mean7")) }, anna)
try await give("gap-filler", [.day(try day("2025-08-02", 64.5))], anna)
let taken = try day("2025-08-04", 0)
try await give(
    "gap-filler",
    [
        .retraction(
            Retraction(
                identity: .day(person: people[0].uid, type: taken.type, series: taken.series, date: taken.date),
                source: taken.source, reason: "too few"))
    ], anna)

@MainActor func answer(_ sink: SinkID, after position: Int64, most: Int, _ result: (StoredRecord) -> SinkResult?)
    async throws
{
    let page = try await store.deliveries(
        of: sink, after: position, limits: DeliveryLimits(records: most), inFlight: [], at: tick())
    // Records without an answer are still on their way: the cursor stays before them.
    let open = page.records.filter { result($0) == nil }.map(\.sequence).min()
    let answers = page.records.compactMap { record in
        result(record).map { SinkAnswer(number: record.number, sequence: record.sequence, result: $0) }
    }
    let reached = min(page.position, (open ?? .max) - 1)
    try await store.settle([SinkSettlement(sink: sink, answers: answers, reached: reached)], recordedAt: tick())
}
try await answer(exporter, after: 0, most: 50) { record in
    switch record.number % 10 {
    case 1: .refused(reason: "the service has no such type")
    case 2: .retry(at: clock + 60 * second, reason: "the service is away")
    case 3: nil
    default: .delivered(receipt: "r-\(record.number)")
    }
}
try await answer(weights, after: 0, most: 20) { _ in .delivered() }
// A delivered record is retracted, which this sink does not support: the retraction is skipped with a reason.
let gone = Retraction(identity: .sample(scale, RecordKey("anna-6")!), source: scale, sourceVersion: 9)
try await give("ihealth-hs5", [.retraction(gone)], anna)
let reached = try await store.sink(weights).cursor.sequence
try await answer(weights, after: reached, most: 100) { record in record.number > 40 ? nil : .delivered() }
try await give(
    "ihealth-hs5",
    [try weight("anna-9", 64.75, day: 81, version: 2), try weight("anna-2", 60.5, day: 18, version: 2)], anna)
_ = try await store.replay(to: exporter, matching: RecordQuery(), at: tick())
_ = try await store.openSink(late, SinkTerms(target: .init(plugin: "json-lines")), from: .now, recordedAt: tick())
try await give("ihealth-hs5", [try weight("after", 63.375, day: 399)], anna)

// Changes by people: edits, deletions and assignments.
var edit = SampleEdit(type: try TypeID("weight"))
edit.value = .quantity(62.25, unit: "kg")
edit.reason = "with shoes on"
let own = try sample("by-hand", "weight", .quantity(62.75, unit: "kg"), day: 398, of: Source(plugin: "manual"))
let actions: [HandAction] = [
    .edit(number: 11, edit), .edit(number: 12, edit), .undoEdit(numbers: [12]),
    .retract(numbers: [13, 14], reason: "not me"),
    .undoRetraction(numbers: [14]), .log([IntakeRecord(record: .sample(own), assignment: anna)]),
    .assign(numbers: [53], to: ben, wholeGroups: false, reason: "it was ben"),
    .assign(numbers: [54], to: anna, wholeGroups: true, reason: nil),
]
for action in actions { _ = try await store.carryOut(action, recordedAt: tick()) }
// The documents of that time advised this command; the reading stayed in the inbox.
_ = try await store.carryOut(
    .assign(numbers: [55], to: .nobody(reason: "guest"), wholeGroups: true, reason: "guest"), recordedAt: tick())
// The source gives a new version of an edited record.
try await give("ihealth-hs5", [try weight("anna-11", 70.5, day: 99, version: 4)], anna)

// Weights that a household's rules assign to people, with their odds.
let household = Household([
    .init(people[0], expectedWeight: 62.5), .init(people[1], expectedWeight: 82),
])
var ruled: [IntakeItem] = []
for (key, kilograms) in [("rule-1", 63.0), ("rule-2", 81.5), ("rule-3", 72.0)] {
    guard case .sample(let sample) = try weight(key, kilograms, day: 400) else { continue }
    ruled.append(
        .success(IntakeRecord(record: .sample(sample), assignment: .nobody(reason: "several"), household: household)))
}
try await give("ihealth-hs5", ruled)
try await give(
    "ihealth-hs5",
    [.success(IntakeRecord(record: try weight("heavy", 640, day: 399), assignment: anna, implausible: .value))])

let faults = try await store.verifyAccounts()
guard faults.isEmpty else { fatalError("\(faults)") }
if CommandLine.arguments[2] == "closed" { try store.close() }

let state = try PluginState(directory: folder + "/state")
try state.set("cursor", to: .text("c-17"))
try state.set("polls", to: .integer(42))
try state.set("bond", to: .bytes([0, 1, 2, 255]))
let ids = try state.spool([
    [Array("one".utf8)], [Array("two".utf8), Array("three".utf8)], [Array("four".utf8)], [Array("five".utf8)],
])
try state.remove([ids.lowerBound], as: .stored)
try state.refuse([Refusal(id: ids.lowerBound + 3, code: "unit", reason: "weight is in kg")], at: 1_757_400_000)
let secrets = try SecretStore(path: folder + "/secrets.db")
for instance in ["exist", "sami"] {
    _ = try await secrets.put(
        NewToken(
            json: Array(#"{"access_token":"of \#(instance)"}"#.utf8), expires: 1_800_000_000_000_000,
            isRenewable: true),
        for: TokenAccount(instance: instance, name: "anna"), expecting: 0, at: morning)
}
_ = try await secrets.put(
    NewToken(json: Array("{}".utf8), expires: nil, isRenewable: false),
    for: TokenAccount(instance: "exist", name: "anna"), expecting: 1, at: morning + 1)
try await secrets.note(
    TokenFailure(.auth, reason: "revoked"), of: TokenAccount(instance: "sami", name: "anna"), at: morning + 2)
_exit(0)
