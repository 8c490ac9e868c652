import JSON

/// An invalid part of a workout, a route or an activity summary: names the member, but not its value.
public struct PartError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error.
    public enum Kind: String, Hashable, Sendable {
        /// A member is missing, unknown, or has an invalid value.
        case value
        /// A unit cannot be read or has the wrong dimension.
        case unit
        /// A time cannot be read or is out of range.
        case time
        /// The record's key does not match its content.
        case key
    }

    /// The kind of error.
    public let kind: Kind
    /// One line for people: the member and the expected value, never the actual value.
    public let description: String

    init(_ kind: Kind, _ description: String) { (self.kind, self.description) = (kind, description) }
}

/// A value in a part, with its path.
struct PartReader {
    let value: JSONTree
    /// The path for messages: `workout.events[3]`.
    let place: String

    func fault(_ expected: String, _ kind: PartError.Kind = .value) -> PartError {
        PartError(kind, "\(place): expected \(expected)")
    }

    /// The members of an object that may have only these names, so that a misspelled name is not overlooked.
    func members(_ names: [String], required: [String] = []) throws(PartError) -> [String: PartReader] {
        guard let members = value.members else { throw fault("an object of \(names.joined(separator: ", "))") }
        var found: [String: PartReader] = [:]
        for member in members {
            guard names.contains(member.name) else { throw fault("no members but \(names.joined(separator: ", "))") }
            let reader = PartReader(value: member.value, place: "\(place).\(member.name)")
            guard found.updateValue(reader, forKey: member.name) == nil else { throw reader.fault("it once") }
        }
        if let missing = required.first(where: { found[$0] == nil }) {
            throw PartError(.value, "\(place).\(missing): missing")
        }
        return found
    }

    /// The elements of an array with at most `most` elements.
    func elements(most: Int) throws(PartError) -> [PartReader] {
        guard let list = value.list, list.count <= most else { throw fault("an array of at most \(most) elements") }
        return list.enumerated().map { PartReader(value: $1, place: "\(place)[\($0)]") }
    }

    func number(in range: ClosedRange<Double>, _ unit: String) throws(PartError) -> Double {
        guard let number = value.double, number.isFinite, range.contains(number) else {
            let bounds =
                range.upperBound.isFinite
                ? "from \(PartReader.text(range.lowerBound)) to \(PartReader.text(range.upperBound))"
                : "from \(PartReader.text(range.lowerBound))"
            throw fault("a number \(bounds)\(unit.isEmpty ? "" : ", in \(unit)")")
        }
        return number
    }

    func text() throws(PartError) -> String {
        guard let text = value.text else { throw fault("a string") }
        return text
    }

    func time() throws(PartError) -> Timestamp {
        guard let text = value.text, let time = try? Timestamp(parsing: text) else {
            throw fault("RFC 3339 with an offset, such as 2024-03-15T07:30:05+01:00", .time)
        }
        return time
    }

    /// Reads metadata and checks the values of HealthKit's keys.
    func metadata() throws(PartError) -> JSONObject {
        guard value.members != nil, let object = JSONObject(value.json) else { throw fault("an object") }
        do throws(KnownMetadata.InvalidMetadata) {
            _ = try KnownMetadata(object, of: .workout)
            return object
        } catch {
            throw PartError(.value, "\(place): \(error)")
        }
    }

    /// Writes a number without a redundant fraction.
    static func text(_ number: Double) -> String {
        number == number.rounded() && abs(number) < 1e15 ? String(Int64(number)) : "\(number)"
    }
}

extension JSONTree.Member {
    init(_ name: String, number: Double) { self.init(name, .number(PartReader.text(number))) }
    init(_ name: String, text: String) { self.init(name, .text(text)) }

    static func optional(_ name: String, number: Double?) -> [JSONTree.Member] {
        number.map { [JSONTree.Member(name, number: $0)] } ?? []
    }

    static func list<Element>(
        _ name: String, _ elements: [Element], _ json: (Element) -> JSONTree
    ) -> [JSONTree.Member] {
        elements.isEmpty ? [] : [JSONTree.Member(name, .list(elements.map(json)))]
    }

    static func metadata(_ metadata: JSONObject?) -> [JSONTree.Member] {
        metadata.flatMap { JSONTree(Array($0.text.utf8)) }.map { [JSONTree.Member("metadata", $0)] } ?? []
    }
}
