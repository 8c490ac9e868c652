import JSON
import Samples

/// The properties of a row for conditions, read on first use.
final class RowProperties {
    private let row: RawStatement
    private let table: Lane.Table
    let context: RowMatcher.Context

    init(_ row: RawStatement, _ table: Lane.Table, _ context: RowMatcher.Context) {
        (self.row, self.table, self.context) = (row, table, context)
    }

    private var isSample: Bool { table == .sample }

    private func column(_ sample: SampleColumn, _ day: DayColumn) -> Int32 {
        isSample ? sample.rawValue : day.rawValue
    }

    private func term(_ column: Int32) throws -> String? {
        try row.optionalInteger(column).map { try context.termCache.term($0, in: context.db) }
    }

    var number: Int64 { row.integer(0) }

    var type: TypeID {
        get throws { try context.termCache.type(row.integer(column(.type, .type)), in: context.db) }
    }

    /// `nil` for a day.
    var kind: SampleKind? { isSample ? SampleKind(code: row.integer(SampleColumn.kind.rawValue)) : nil }

    var key: String? { isSample ? row.text(SampleColumn.key.rawValue) : nil }

    var source: Source {
        get throws { try context.termCache.source(row.integer(column(.source, .source)), in: context.db) }
    }

    /// The value of a quantity or day, in its type's own unit.
    var quantity: Double? {
        let column = column(.value, .value)
        return row.isNull(column) ? nil : row.double(column)
    }

    var unit: String? { get throws { try term(column(.unit, .unit)) } }

    var name: String? { get throws { isSample ? try term(SampleColumn.name.rawValue) : nil } }

    var raw: Int64? { isSample ? row.optionalInteger(SampleColumn.raw.rawValue) : nil }

    // MARK: - Times

    /// Microseconds since 1970.
    var start: Int64 {
        isSample ? row.integer(SampleColumn.start.rawValue) : row.integer(DayColumn.date.rawValue) &* Filter.dayLength
    }

    /// A day ends a microsecond before the next midnight UTC.
    var end: Int64 {
        isSample ? start &+ row.integer(SampleColumn.duration.rawValue) : start &+ Filter.dayLength - 1
    }

    /// Whether the record is in a time span, by HealthKit's rules: without options it must overlap [from, to).
    func lies(_ from: Int64?, _ to: Int64?, _ strict: Set<SpanEnd>) -> Bool {
        if let from {
            // With a strict end and no strict start, the end must be at or after `from`, as without options.
            guard strict.contains(.start) ? start >= from : end >= from else { return false }
        }
        if let to {
            guard start < to, !strict.contains(.end) || end < to else { return false }
        }
        return true
    }

    // MARK: - Group and metadata

    private var known: SampleGroup??

    /// `nil` if it has no group.
    var group: SampleGroup? {
        get throws {
            if let known { return known }
            var found: SampleGroup?
            if isSample, let group = row.text(SampleColumn.grouping.rawValue) {
                let key = SampleGroup.Key(
                    group: group, plugin: try source.plugin, person: row.integer(SampleColumn.person.rawValue))
                found = try SampleGroup.of(key, context)
            }
            known = .some(found)
            return found
        }
    }

    private var members: MetadataMembers??

    /// The metadata as published, including the hub's own members.
    var metadata: MetadataMembers? {
        get throws {
            if let members { return members }
            var text = row.text(column(.metadata, .metadata))
            if isSample, text == nil, let shared = row.optionalInteger(SampleColumn.sharedMetadata.rawValue) {
                text = try context.termCache.metadata(shared, in: context.db).text
            }
            if isSample, let profile = try term(SampleColumn.profileOf.rawValue) {
                let person = row.integer(SampleColumn.person.rawValue)
                if try person == 0 || context.termCache.person(person, in: context.db).name != profile {
                    text = BodyProfile.marked(text.map(JSONObject.init(trusted:)), with: profile).text
                }
            }
            let found = text.map(MetadataMembers.init)
            members = .some(found)
            return found
        }
    }
}

/// The parsed members of a record's metadata; HealthKit's keys have one name each.
final class MetadataMembers {
    private let bytes: [UInt8]
    private let members: [(name: String, value: JSONValue)]

    init(_ text: String) {
        bytes = Array(text.utf8)
        members = bytes.withUnsafeBytes { bytes in
            Self.members(of: bytes).map { (MetadataKey.name(of: $0.name), $0.value) }
        }
    }

    /// The members of an object; empty for any other value.
    private static func members(
        of bytes: UnsafeRawBufferPointer, within value: JSONValue? = nil
    ) -> [(name: String, value: JSONValue)] {
        var members: [(name: String, value: JSONValue)] = []
        guard var scanner = value.map({ JSONScanner(bytes, within: $0) }) ?? (try? JSONScanner(bytes)) else {
            return []
        }
        do throws(JSONSyntaxError) {
            try scanner.expect(UInt8(ascii: "{"))
            scanner.skipSpace()
            if scanner.take(UInt8(ascii: "}")) { return [] }
            repeat {
                scanner.skipSpace()
                let name = try scanner.name()
                members.append((JSONText.string(name, in: bytes) ?? "", try scanner.value()))
                scanner.skipSpace()
            } while scanner.take(UInt8(ascii: ","))
        } catch {
            // The metadata was validated at intake.
            return []
        }
        return members
    }

    private static func find(_ name: String, _ members: [(name: String, value: JSONValue)]) -> JSONValue? {
        members.last { $0.name.hasSameBytes(as: name) }?.value
    }

    func has(_ name: String) -> Bool { Self.find(name, members) != nil }

    /// The member, if it is a text, a number or a boolean.
    func value(_ name: String) -> MetadataValue? {
        Self.find(name, members).flatMap { value in bytes.withUnsafeBytes { Self.scalar(value, $0) } }
    }

    private static func scalar(_ value: JSONValue, _ bytes: UnsafeRawBufferPointer) -> MetadataValue? {
        switch value.kind {
        case .string: JSONText.string(value, in: bytes).map(MetadataValue.text)
        case .number: NumberReader.double(value, in: bytes).map(MetadataValue.number)
        case .true: .truth(true)
        case .false: .truth(false)
        default: nil
        }
    }

    /// A text property of a member that is an object.
    func text(of property: String, in name: String) -> String? {
        guard case .text(let text)? = inner(property, in: name) else { return nil }
        return text
    }

    /// Parsed members that are objects, by name.
    private var objects: [String: [(name: String, value: JSONValue)]] = [:]

    private func inner(_ property: String, in name: String) -> MetadataValue? {
        bytes.withUnsafeBytes { bytes in
            if objects[name] == nil {
                let object = Self.find(name, members).flatMap { $0.kind == .object ? $0 : nil }
                objects[name] = object.map { Self.members(of: bytes, within: $0) } ?? []
            }
            return objects[name].flatMap { Self.find(property, $0) }.flatMap { Self.scalar($0, bytes) }
        }
    }

    /// A member that is a quantity, such as `"21.5 degC"` or `{"value":21.5,"unit":"degC"}`, converted to `unit`; `nil` if that fails.
    func quantity(_ name: String, in unit: HealthUnit) -> Double? {
        let (number, text): (Double?, String?)
        switch value(name) {
        case .text(let written)?:
            let words = written.split(separator: " ", maxSplits: 1)
            guard words.count == 2, words[0].allSatisfy({ "0123456789+-.eE".contains($0) }) else { return nil }
            (number, text) = (Double(words[0]), String(words[1]))
        case nil:
            guard case .number(let value)? = inner("value", in: name), case .text(let unit)? = inner("unit", in: name)
            else { return nil }
            (number, text) = (value, unit)
        default: return nil
        }
        guard let number, number.isFinite, let text, let own = try? HealthUnit(text) else { return nil }
        return try? own.convert(number, to: unit)
    }

    /// Whether a person entered the record.
    var isUserEntered: Bool { value("wasUserEntered") == .truth(true) }
}
