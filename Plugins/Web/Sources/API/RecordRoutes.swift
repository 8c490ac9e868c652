import Foundation
import HTTPTypes
import HealthExports
import Hummingbird
import JSON
import NIOCore
import PluginKit

/// Persons, types and records.
enum RecordRoutes {
    private static let order = APIParameter(
        name: "order", form: .word(["sequence", "time", "-time", "end", "-end"]),
        help: "As the hub stored them, by start, by end; - is downwards.")

    static let all: [APIRoute] = [
        .get(
            "/persons", "Those whose values the viewer may see.",
            answer: .init("Those of hub.conf.", Schemas.object([("persons", Schemas.list(person))])), handle: persons),
        .get(
            "/types", "The types of records that there are.",
            answer: .init("Those of Docs/Samples.md.", Schemas.object([("types", Schemas.list(type))])), handle: types),
        .get(
            "/latest", "Of each person and type the sample that ended last.", Parameters.filter,
            answer: .init("Records.", Schemas.records)
        ) { call in
            var query = QueryRequest(id: 0, filter: try call.filter(), next: nil)
            query.isLatest = true
            return try await call.records(query)
        },
        .get(
            "/records", "Records, as the hub prints them, page by page.",
            Parameters.filter + [
                APIParameter(
                    name: "kind", form: .word(QueryRequest.Kind.allCases.map(\.rawValue)),
                    help: "Only of this kind; may be repeated. Days are included only if they are named.",
                    isList: true),
                order,
                APIParameter(
                    name: "since", form: .cursor,
                    help: "Only changes after this cursor, retractions included; not together with order."),
                Parameters.limit(1_000, "Records in all pages together; not given: all."), Parameters.next,
            ], answer: .init("At most 1,000 records; with next there may be more.", Schemas.records), handle: records),
        .get(
            "/records/{number}", "One record.", [Parameters.number],
            answer: .init("As the hub prints it.", Schemas.ref("record"))
        ) { call in Response.json(try await call.record(call.integer("number") ?? 0)) },
        .get(
            "/records/{number}/trace", "The history of a record: its versions, its deliveries, its days.",
            [Parameters.number, Parameters.limit(1_000, "Versions of the page."), Parameters.next],
            answer: .init(
                "What hub trace --json prints; viewers of one person get it without others' records and words.",
                Schemas.ref("trace")), handle: trace),
        .get(
            "/records.csv", "Records for spreadsheets, by their start.",
            Parameters.filter + [
                APIParameter(name: "days", form: .truth, help: "true: also the values that were made for whole days.")
            ], answer: .init("What hub export --format csv writes.", ["type": "string"], type: "text/csv"), handle: csv),
        .get(
            "/sources", "Which sources have given how many records, of each type and person.", Parameters.filter,
            answer: .init("What hub sources --json prints.", Schemas.ref("sources"))
        ) { call in
            try .json(encoding: SourcesPage(sources: try await call.parts.hub.sources(try call.filter()), next: nil))
        },
    ]

    private static let person = Schemas.object(
        [
            ("name", ["type": "string"]), ("displayName", ["type": "string"]), ("zone", ["type": "string"]),
            ("locale", ["type": "string"]), ("units", ["type": "object", "additionalProperties": ["type": "string"]]),
        ], optional: ["displayName", "zone", "locale"])

    @Sendable private static func persons(_ call: APICall) async throws -> Response {
        let persons = call.viewer.persons(call.parts.hub.persons).map { person in
            JSONTree(present: [
                ("name", .text(person.name)), ("displayName", person.displayName.map(JSONTree.text)),
                ("zone", person.zone.map(JSONTree.text)), ("locale", person.locale.map(JSONTree.text)),
                ("units", PreferenceRoutes.object(person.units)),
            ])
        }
        return .json(["persons": .list(persons)])
    }

    private static let type = Schemas.object(
        [
            ("id", Schemas.ref("common/$defs/typeID")), ("name", ["type": "string"]), ("kind", ["type": "string"]),
            ("unit", ["type": "string"]), ("aggregation", ["type": "string"]),
        ], optional: ["unit", "aggregation"])

    @Sendable private static func types(_ call: APICall) async throws -> Response {
        let types = TypeRegistry.standard.all.map { type in
            JSONTree(present: [
                ("id", .text(type.id.rawValue)), ("name", .text(type.displayName)), ("kind", .text("\(type.kind)")),
                ("unit", type.unit.map(JSONTree.text)), ("aggregation", type.aggregation.map { .text("\($0)") }),
            ])
        }
        return .json(["types": .list(types)])
    }

    @Sendable private static func records(_ call: APICall) async throws -> Response {
        var filter = try call.filter()
        filter.kinds = call.texts("kind")?.compactMap(QueryRequest.Kind.init)
        var query = QueryRequest(
            id: 0, filter: filter, since: call.cursor("since"), limit: call.integer("limit"),
            next: call.text("next"))
        if let word = call.text("order") {
            query.order = word == "sequence" ? .sequence : SortKey(rawValue: word).map { QueryRequest.Order.by([$0]) }
            guard query.since == nil || query.order == .sequence else {
                throw RequestRefusal(
                    .conflict, "since has a fixed order", "order: leave it out, or leave since out.", member: "order")
            }
        }
        return try await call.records(query)
    }

    @Sendable private static func trace(_ call: APICall) async throws -> Response {
        let number = call.integer("number") ?? 0
        _ = try await call.record(number)
        let story = try await call.parts.hub.trace(number, limit: call.integer("limit"), next: call.text("next"))
        return .json(try call.viewer.cut(story: story).bytes)
    }

    // MARK: - CSV

    @Sendable private static func csv(_ call: APICall) async throws -> Response {
        var filter = try call.filter()
        // Find an invalid type before the file begins.
        var probe = QueryRequest(id: 0, filter: filter, limit: 1)
        probe.filter.kinds = [.quantity]
        _ = try await call.parts.hub.link.ask(probe)
        filter.kinds = RecordKind.allCases.filter(RecordKind.samples.contains)
        let (hub, viewer, samples, withDays) = (call.parts.hub, call.viewer, filter, call.truth("days"))
        return Response(
            status: .ok,
            headers: [
                .contentType: "text/csv; charset=utf-8; header=present",
                .contentDisposition: "attachment; filename=\"records.csv\"",
            ],
            body: ResponseBody { writer in
                var export = CSVExport(CSVColumn.exported)
                var output: [UInt8] = []
                export.begin(&output)
                var filters = [samples]
                if withDays {
                    var days = samples
                    days.kinds = [.day]
                    filters.append(days)
                }
                for filter in filters {
                    var runs = ExportRuns()
                    for try await page in hub.query(filter, order: .time) {
                        for record in page.records {
                            for item in runs.add(ExportItem(try viewer.cut(record), json: [])) {
                                export.write(item, to: &output)
                            }
                        }
                        try await writer.write(ByteBuffer(bytes: output))
                        output.removeAll(keepingCapacity: true)
                    }
                    for item in runs.finish() { export.write(item, to: &output) }
                }
                try await writer.write(ByteBuffer(bytes: output))
                try await writer.finish(nil)
            })
    }
}

extension APICall {
    /// A record that the viewer may see; the owner gets it as the hub printed it.
    ///
    /// - Throws: ``noSuchPage``, both for an unknown record and for another person's.
    func record(_ number: Int64) async throws -> [UInt8] {
        var query = QueryRequest(id: 0)
        query.filter = .init(numbers: [number])
        guard let record = try await parts.hub.records(query).records.first else { throw noSuchPage }
        let bytes = Array(record)
        var decoder = StoredRecordDecoder()
        guard viewer.maySee(try bytes.withUnsafeBytes { try decoder.record($0) }) else { throw noSuchPage }
        return Array(try viewer.cut(bytes[...]))
    }
}

extension Response {
    static func json(_ bytes: [UInt8]) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    static func json(_ tree: JSONTree) -> Response { json(tree.bytes) }

    static func json(encoding value: some Encodable) throws -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return json(Array(try encoder.encode(value)))
    }
}
