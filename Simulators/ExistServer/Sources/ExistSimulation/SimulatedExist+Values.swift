import GRDB
import Samples
import WebFaults

// Values of days.
extension SimulatedExist {
    func update(_ object: JSONTree, _ index: Int, _ exchange: Exchange, _ caller: Caller) throws -> JSONTree {
        try need(["name", "date", "value"], of: object, index)
        let attribute = try owned(object, exchange, caller)
        let date = try day(object, exchange, caller)
        let json = try Self.checked(object["value"] ?? .null, attribute, exchange)
        try store(json, of: attribute, date, exchange)
        return object
    }

    func increment(_ object: JSONTree, _ index: Int, _ exchange: Exchange, _ caller: Caller) throws -> JSONTree {
        try need(["name", "value"], of: object, index)
        let attribute = try owned(object, exchange, caller)
        guard attribute.type.canIncrement else { throw WriteError.invalid("This attribute cannot be incremented") }
        let date = object["date"] == nil ? try today(caller.user, exchange) : try day(object, exchange, caller)
        let json = try Self.checked(object["value"] ?? .null, attribute, exchange)
        let before = try String.fetchOne(
            exchange.database, sql: "SELECT json FROM value WHERE attribute = ? AND date = ?",
            arguments: [attribute.id, date.text])
        let sum: JSONTree
        if let added = Int(json), let known = Int(before ?? "0") {
            sum = JSONTree(added + known)
        } else {
            sum = .number("\((Double(json) ?? 0) + (Double(before ?? "0") ?? 0))")
        }
        try store(sum.json, of: attribute, date, exchange)
        return .object((object.members ?? []) + [.init("current", sum)])
    }

    private func owned(_ object: JSONTree, _ exchange: Exchange, _ caller: Caller) throws -> StoredExistAttribute {
        let name = object["name"]?.text ?? ""
        guard let attribute = try StoredExistAttribute.find(name, of: caller.user, in: exchange.database) else {
            throw WriteError.unknown(name)
        }
        try allow(caller, attribute.group, attribute.isManual, exchange)
        guard attribute.owner == caller.client else { throw WriteError.foreign(name) }
        return attribute
    }

    private func day(_ object: JSONTree, _ exchange: Exchange, _ caller: Caller) throws -> LocalDate {
        guard let text = object["date"]?.text, let date = LocalDate(text), date.text == text else {
            throw WriteError.invalid("date: expected YYYY-MM-DD")
        }
        guard try date <= today(caller.user, exchange) else { throw WriteError.invalid("date: in the future") }
        return date
    }

    private func store(_ json: String, of attribute: StoredExistAttribute, _ date: LocalDate, _ exchange: Exchange)
        throws
    {
        try exchange.database.execute(
            sql: "INSERT INTO value VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET json = excluded.json",
            arguments: [attribute.id, date.text, json])
    }

    /// The value in its stored form; only its broad type is checked, unless the switch enables more.
    private static func checked(
        _ value: JSONTree, _ attribute: StoredExistAttribute, _ exchange: Exchange
    ) throws -> String {
        let checksRange = exchange.switches.checksRange
        func whole(_ range: ClosedRange<Int>) throws -> String {
            guard let number = value.integer else {
                throw WriteError.invalid(
                    value.double == nil ? "Expected an integer" : "Cannot apply a float to an integer type")
            }
            guard !checksRange || range.contains(number) else { throw WriteError.invalid("Out of range") }
            return "\(number)"
        }
        switch attribute.type {
        case .whole, .minutes: return try whole(0...Int.max)
        case .timeOfDay, .timeFromMidday: return try whole(0...1_439)
        case .scale: return try whole(1...9)
        case .truth: return try value.truth.map { $0 ? "1" : "0" } ?? whole(0...1)
        case .text:
            guard let text = value.text else { throw WriteError.invalid("Expected a string") }
            guard attribute.name != "mood_note" || text.count <= 1_000 else { throw WriteError.invalid("Too long") }
            return value.json
        case .decimal, .percentage:
            guard let number = value.double, number.isFinite else { throw WriteError.invalid("Expected a number") }
            guard !checksRange || attribute.type == .decimal || (0...1).contains(number) else {
                throw WriteError.invalid("Out of range")
            }
            return value.json
        }
    }
}
