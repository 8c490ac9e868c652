import Hummingbird
import JSON
import PluginKit

/// Parameters that several addresses share.
enum Parameters {
    static let person = APIParameter(
        name: "person", form: .text(), help: "The person; not given: everybody whose values the viewer may see.")
    static let onePerson = APIParameter(
        name: "person", form: .text(), help: "The person; may be left out if the viewer sees only one.")
    static let types = APIParameter(
        name: "type", form: .text(), help: "Only of this type, by any of its names; may be repeated.", isList: true)
    static let sources = APIParameter(
        name: "source", form: .text(), help: "Only from plugins of this kind; may be repeated.", isList: true)
    static let from = APIParameter(name: "from", form: .time, help: "Only what ends at or after this.")
    static let to = APIParameter(name: "to", form: .time, help: "Only what begins before this.")
    static let next = APIParameter(
        name: "next", form: .text(), help: "The member next of the previous page, with the other parameters unchanged.")
    static let number = APIParameter(
        name: "number", form: .integer(1...9_007_199_254_740_991), help: "The hub's number of the record.", place: .path
    )
    static let version = APIParameter(
        name: "version", form: .integer(1...9_007_199_254_740_991),
        help: "Change the record only if this is still its seq; the body names one record.")
    static let dryRun = APIParameter(
        name: "dryRun", form: .truth, help: "true: change nothing, and answer what would be done.")
    private static let name = APIParameter.Form.text(most: 64, pattern: "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")
    static let plugin = APIParameter(name: "name", form: name, help: "The plugin, as hub.conf names it.", place: .path)
    static let command = APIParameter(
        name: "command", form: .text(most: 64, pattern: "^[a-z][a-z0-9-]{0,63}$"),
        help: "One of the commands of the plugin's manifest.", place: .path)
    static let configuredPerson = APIParameter(
        name: "person", form: name, help: "The person's name in hub.conf, which may be a new one.", place: .path)
    static func limit(_ most: Int64, _ help: String) -> APIParameter {
        APIParameter(name: "limit", form: .integer(1...most), help: help)
    }

    /// The parameters that select records.
    static let filter = [person, types, sources, from, to]
}

/// Schemas that several answers share.
enum Schemas {
    /// A reference to a file of Docs/Schemas.
    static func ref(_ name: String) -> JSONTree { ["$ref": .text("#/components/schemas/\(name)")] }

    /// - Parameter isClosed: whether other members are forbidden.
    static func object(
        _ members: [(String, JSONTree)], optional: Set<String> = [], isClosed: Bool = false
    ) -> JSONTree {
        let object: [JSONTree.Member] = [
            .init("type", "object"), .init("properties", .object(members.map { .init($0.0, $0.1) })),
            .init("required", .list(members.map(\.0).filter { !optional.contains($0) }.map(JSONTree.text))),
        ]
        return .object(object + (isClosed ? [.init("additionalProperties", false)] : []))
    }

    static func list(_ items: JSONTree) -> JSONTree { ["type": "array", "items": items] }

    static let records = object(
        [("records", list(ref("record"))), ("next", ["type": "string"]), ("cursor", ["type": "string"])],
        optional: ["next", "cursor"])
}

extension JSONTree {
    /// An object of the members that have a value.
    init(present members: [(String, JSONTree?)]) {
        self = .object(members.compactMap { name, value in value.map { Member(name, $0) } })
    }
}

extension APICall {
    /// The filter of the request, limited to records that the viewer may see.
    ///
    /// - Throws: ``RequestRefusal`` that names the problem.
    func filter() throws -> QueryRequest.Filter {
        var filter = QueryRequest.Filter()
        filter.persons = try person().map { [$0] }
        filter.types = try types()
        filter.sources = texts("source")
        (filter.from, filter.to) = (time("from"), time("to"))
        if let from = filter.from, let to = filter.to, from.microseconds >= to.microseconds {
            throw RequestRefusal(
                .conflict, "This is not a span of time", "from: expected a time before to.", member: "from")
        }
        return filter
    }

    /// Queries the hub and returns a page of records; the owner gets them as the hub printed them.
    func records(_ query: QueryRequest) async throws -> Response {
        let (records, next, cursor) = try await parts.hub.records(query)
        var bytes = Array(#"{"records":["#.utf8)
        bytes += try
            (viewer.readsReasons ? records : records.reduce(into: RawRecords()) { $0.append(try viewer.cut($1)) })
            .joined
        bytes.append(UInt8(ascii: "]"))
        if let next { bytes += (#","next":"# + JSONTree.text(next).json).utf8 }
        if let cursor { bytes += #","cursor":"\#(cursor)""#.utf8 }
        bytes.append(UInt8(ascii: "}"))
        return .json(bytes)
    }

    /// Returns an answer of the hub unchanged.
    func answer(_ query: QueryRequest) async throws -> Response {
        guard case .answer(_, let answer) = try await parts.hub.link.ask(query).content else {
            throw RecordEvent.EventError()
        }
        return .json(answer.bytes)
    }
}
