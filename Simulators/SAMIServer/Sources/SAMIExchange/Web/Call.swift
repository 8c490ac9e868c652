import WebFaults

/// A request below `/v1.1`; its accessors are as tolerant as old clients need.
struct Call: Sendable {
    let request: WebRequest
    /// The values of the path's placeholders, by name.
    let places: [String: String]
    let caller: Caller
    /// Whether to store the posted message twice, under two ids, as the real service was observed to do.
    let isTwice: Bool

    func place(_ name: String) -> String { places[name] ?? "" }

    var query: QueryParameters { QueryParameters(request.query) }

    /// The body as a JSON object.
    func object() throws -> JSONTree {
        guard let tree = request.json, tree.members != nil else { throw APIError(400, "Bad Request") }
        return tree
    }
}

/// The members of a query.
struct QueryParameters: Sendable {
    private let members: [String: String]

    init(_ query: [(name: String, value: String)]) {
        // SAMI's own device simulator wrote `&?sdid=`.
        members = Dictionary(
            query.map { ($0.name.first == "?" ? String($0.name.dropFirst()) : $0.name, $0.value) },
            uniquingKeysWith: { first, _ in first })
    }

    /// A text that is not empty; `nil` if there is none.
    subscript(_ name: String) -> String? { members[name].flatMap { $0.isEmpty ? nil : $0 } }

    func text(_ name: String) throws -> String {
        guard let value = self[name] else { throw APIError.required(name) }
        return value
    }

    /// Parses `true`, `True`, `1` and their opposites, because Swagger, Python and Objective-C differ.
    func flag(_ name: String) throws -> Bool {
        switch self[name]?.lowercased() {
        case nil, "false", "0": false
        case "true", "1": true
        default: throw APIError.invalid(name, "Boolean field only")
        }
    }

    func integer(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let text = self[name] else { return nil }
        guard let value = Int(text) else { throw APIError.invalid(name, "Numeric field only") }
        guard value >= range.lowerBound else { throw APIError.invalid(name, "Minimum value \(range.lowerBound)") }
        guard value <= range.upperBound else { throw APIError.invalid(name, "Maximum value \(range.upperBound)") }
        return value
    }

    /// Milliseconds since 1970; the limit keeps computations with them from overflowing.
    func date(_ name: String) throws -> Int64? { try integer(name, in: 0...10_000_000_000_000).map { Int64($0) } }

    func requiredDate(_ name: String) throws -> Int64 {
        guard let date = try date(name) else { throw APIError.required(name) }
        return date
    }

    /// A comma-separated list.
    func list(_ name: String) -> [String] {
        (self[name] ?? "").split(separator: ",").map { String($0.replacing(" ", with: "")) }.filter { !$0.isEmpty }
    }

    /// The start and the maximum length of a page.
    func page() throws -> Page {
        Page(offset: try integer("offset", in: 0...Int.max) ?? 0, count: try integer("count", in: 1...100) ?? 100)
    }
}

struct Page {
    let offset: Int
    let count: Int

    /// The envelope of a page.
    func envelope(_ plural: String, _ items: [JSONTree], total: Int) -> WebAnswer {
        .api([
            "data": .object([.init(plural, .list(items))]), "total": JSONTree(total), "offset": JSONTree(offset),
            "count": JSONTree(items.count),
        ])
    }
}
