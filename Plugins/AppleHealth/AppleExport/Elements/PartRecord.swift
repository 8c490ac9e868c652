import JSON

/// A record that is not one element of the XML: a fact about the person, or a part of a file.
struct PartRecord {
    var type: TypeEntry
    var source: SourceEntry
    var key: [UInt8]
    /// The start and the end as the record has them; an instant has no end.
    var start: String
    var end: String?
    /// The start and the end in whole seconds since 1970, for the account.
    var seconds: (start: Int64, end: Int64)
    var value: String?
    var group: [UInt8]?
    /// The points of a route as JSON, separated by commas.
    var route: [UInt8] = []
    /// The zone and the metadata.
    var draft = ElementDraft()
}

extension [UInt8] {
    /// Appends a member: its comma, name and colon, and a text in quotes.
    mutating func append(_ beginning: StaticString, quoted text: String) {
        append(literal: beginning)
        append(quoted: text)
    }

    /// Appends a member: its comma, name, colon and first quote, and the text between the quotes.
    mutating func append(_ beginning: StaticString, _ text: [UInt8]) {
        append(literal: beginning)
        append(bytes: text)
        append(0x22)
    }

    /// Begins a member of an object: the comma after another member, the name and the colon.
    mutating func begin(_ name: String) {
        if let last, last != 0x7B { append(0x2C) }
        append(quoted: name)
        append(0x3A)
    }

    static func quoted(_ text: String) -> [UInt8] {
        var json: [UInt8] = []
        json.append(quoted: text)
        return json
    }

    /// A quantity in metadata: `{"value":80.4,"unit":"kg"}`.
    static func quantity(_ value: Double, unit: String) -> [UInt8] {
        var json: [UInt8] = []
        json.append(literal: #"{"value":"#)
        NumberWriter.append(value, to: &json)
        json.append(#","unit":"#, quoted: unit)
        json.append(0x7D)
        return json
    }
}
