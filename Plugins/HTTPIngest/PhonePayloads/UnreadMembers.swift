import JSON
import Samples

/// The members of items that no reader uses: each name once for each list, with the number of items that have it.
struct UnreadMembers: Sendable {
    private struct Entry {
        var list, name, place: String
        var why: String
        var points: Int
    }

    private var entries: [Entry] = []
    private var more = 0
    /// Maximum number of names; of further names only the number is reported.
    private static let most = 100

    mutating func note(
        _ name: String, in list: String, _ why: String, points: Int = 1, at place: @autoclosure () -> String
    ) {
        if let index = entries.firstIndex(where: { $0.name == name && $0.list == list && $0.why == why }) {
            entries[index].points += points
        } else if entries.count < Self.most {
            entries.append(Entry(list: list, name: name, place: place(), why: why, points: points))
        } else {
            more += points
        }
    }

    mutating func add(_ other: UnreadMembers) {
        for entry in other.entries {
            note(entry.name, in: entry.list, entry.why, points: entry.points, at: entry.place)
        }
        more += other.more
    }

    /// One omission for each name.
    var omissions: [PhoneOmission] {
        entries.map {
            PhoneOmission(.pointer($0.place), $0.why, name: $0.name, points: $0.points, isMember: true)
        }
            + (more > 0
                ? [PhoneOmission(.pointer(""), "other members, which are not read", points: more, isMember: true)] : [])
    }
}

/// The fault of an item.
struct ItemError: Error, Hashable {
    var code, reason: String

    init(_ code: String, _ reason: String) { (self.code, self.reason) = (code, reason) }
}

extension PhoneBatch {
    static let notRead = "this reader does not take it"

    /// Notes the members of an item that its reader does not use.
    ///
    /// - Parameters:
    ///   - known: the names that the reader uses, and `also` one more.
    ///   - list: the place of the list, and `at` the place of this item.
    ///   - unit: the unit of the item's only number; `nil` if it has several numbers or none. Then a member with a unit is only noted.
    /// - Throws: ``ItemError`` if the item gives another unit.
    mutating func noteUnread(
        _ members: Members, but known: [StaticString], also: String? = nil, in list: @autoclosure () -> String,
        unit: (text: String, type: HealthType)? = nil, at place: @autoclosure () -> String
    ) throws(ItemError) {
        for member in members.all where !known.contains(where: { members.named(member.name, $0) }) {
            guard !isEmpty(member.value, members.bytes), let name = JSONText.string(member.name, in: members.bytes),
                name != also
            else { continue }
            let text = member.value.kind == .string ? JSONText.string(member.value, in: members.bytes) : nil
            guard let unit, let statement = UnitStatement(name, text, of: unit.type) else {
                unread.note(name, in: list(), Self.notRead, at: "\(place())/\(name.pointerText)")
                continue
            }
            guard case .unit(let stated) = statement, UnitStatement.areSame(stated, unit.text, of: unit.type) else {
                throw ItemError(
                    "unit", "\(name.prefix(64)): it states another unit than \(unit.text), which this item has")
            }
        }
    }

    /// Whether the value is empty: `null`, an empty text, list or object.
    private func isEmpty(_ value: JSONValue, _ bytes: UnsafeRawBufferPointer) -> Bool {
        switch value.kind {
        case .null: return true
        case .string: return value.end - value.start == 2
        case .array, .object:
            return bytes[(value.start + 1)..<(value.end - 1)].allSatisfy { $0 <= 0x20 }
        default: return false
        }
    }
}

/// The unit that a member gives.
enum UnitStatement: Equatable {
    /// A unit in the hub's grammar.
    case unit(String)
    /// The member is named like a unit or names a system of units, but does not give a unit of the type.
    case unknown

    /// - Returns: `nil` for a member that does not give a unit.
    init?(_ name: String, _ text: String?, of type: HealthType?) {
        let isNamed = Self.isName(name)
        guard let text, !text.trimmed.isEmpty else {
            guard isNamed else { return nil }
            self = .unknown
            return
        }
        if text.utf8.count <= 64, let type, let unit = PhoneUnits.unit(text, of: type) {
            // Other members contain the same words: `"activity": "steps"`, `"sex": "m"`.
            guard isNamed || text.trimmed.count > 1 && type.unit.map({ !$0.hasPrefix("count") }) ?? false else {
                return nil
            }
            self = .unit(unit)
        } else if isNamed || Self.systems.contains(text.trimmed.lowercased()) {
            self = .unknown
        } else {
            return nil
        }
    }

    /// Names of systems whose units differ from the hub's.
    static let systems: Set = ["imperial", "us customary", "us_customary"]

    /// Whether the name is that of a unit member: `unit`, `Units`, `weight_unit`, `unitOfMeasurement`, `uom`.
    static func isName(_ name: String) -> Bool {
        let small = name.lowercased()
        let parts = words(of: name)
        return names.contains { parts.contains($0) || small.hasSuffix($0) } || small.hasPrefix("unit")
    }

    private static let names = [
        "unit", "units", "uom", "einheit", "einheiten", "unité", "unite", "unidad", "unidade", "unità", "unita",
        "eenheid",
        "enhet", "enhed", "jednostka", "jednotka", "yksikkö", "birim", "единица", "одиниця", "单位", "單位", "単位", "단위",
    ]

    /// The rest of a name without the word for a unit: `weight` for `weight_unit`; empty if there is no rest.
    static func subject(of name: String) -> String {
        let small = name.lowercased()
        let rest = words(of: name).filter { !names.contains($0) }
        let generic: Set = [
            "of", "measurement", "measure", "name", "value", "symbol", "text", "label", "string", "code", "type",
        ]
        let own = rest.filter { !generic.contains($0) }
        if own.count == 1, own[0] == small {
            // A name written as one word: `weightunit`, `unitofmeasurement`.
            guard let word = names.sorted(by: { $0.utf8.count > $1.utf8.count }).first(where: { small.hasSuffix($0) })
            else {
                return ""
            }
            return String(small.dropLast(word.count))
        }
        return own.joined(separator: "_")
    }

    /// The words of a name, in lower case: `weightUnit` and `weight-unit` have two.
    static func words(of name: String) -> [String] {
        var words: [String] = []
        var word = ""
        var wasSmall = false
        for character in name {
            guard character.isLetter || character.isNumber else {
                if !word.isEmpty { words.append(word) }
                (word, wasSmall) = ("", false)
                continue
            }
            if character.isUppercase, wasSmall {
                words.append(word)
                word = ""
            }
            wasSmall = character.isLowercase
            word += character.lowercased()
        }
        return word.isEmpty ? words : words + [word]
    }

    /// Whether a number means the same in both units.
    static func areSame(_ left: String, _ right: String, of type: HealthType) -> Bool {
        guard left != right else { return true }
        guard let one = try? type.meant(by: left), let other = try? type.meant(by: right) else { return false }
        return one == other
    }
}
