import HubWire
package import Samples

/// Presents the metadata of a sample to people.
package enum MetadataWords {
    package struct Fact: Hashable, Sendable {
        /// The key on the bus.
        package let key: String
        /// `Dated by the hub`.
        package let name: String
        /// `yes`, `1.5 m/s`, `Open water`.
        package let value: String
    }

    /// The facts of a sample, sorted by name.
    ///
    /// - Parameter reader: decides how quantities and moments are shown.
    package static func facts(of sample: Sample, for reader: DisplayPreferences) -> [Fact] {
        let members = RawMembers.members(of: Array((sample.metadata?.text ?? "{}").utf8)[...])
        return members.map { spelling, bytes in
            let key = MetadataKey.named(spelling)
            let name = key?.name ?? spelling
            return Fact(
                key: name, name: isWritten(name) ? NameWords.text(name) : name, value: value(bytes, key, reader))
        }.sorted { ($0.name, $0.key) < ($1.name, $1.key) }
    }

    /// Whether a program chose the name; a name that a person chose may have blanks and any letters.
    private static func isWritten(_ name: String) -> Bool {
        name.first?.isLowercase == true && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
    }

    private static func value(_ bytes: ArraySlice<UInt8>, _ key: MetadataKey?, _ reader: DisplayPreferences) -> String {
        let plain = String(decoding: bytes, as: UTF8.self)
        guard let text = RawJSON(trusted: Array(bytes)).textValue else {
            if case .enumeration(let values)? = key?.content,
                let value = values.first(where: { $0.raw.map(String.init) == plain })
            {
                return NameWords.text(value.name)
            }
            return switch plain {
            case "true": "yes"
            case "false": "no"
            default: quantity(bytes, reader) ?? plain
            }
        }
        switch key?.content {
        case .enumeration: return NameWords.text(text)
        case .date: return (try? Timestamp(parsing: text)).map { MomentText.moment($0, for: reader) } ?? text
        case .string: return text
        default: return NameWords.isName(text) ? NameWords.text(text) : text
        }
    }

    /// The text of an object that has a value and a unit.
    private static func quantity(_ bytes: ArraySlice<UInt8>, _ reader: DisplayPreferences) -> String? {
        guard bytes.first == UInt8(ascii: "{") else { return nil }
        let members = RawMembers.members(of: bytes)
        guard members.count == 2,
            let number = members["value"].flatMap({ Double(String(decoding: $0, as: UTF8.self)) }),
            let unit = members["unit"].flatMap({ RawJSON(trusted: Array($0)).textValue })
        else { return nil }
        return reader.format(unit, of: nil).text(number)
    }
}
