import JSON
import Samples

/// Members of items that no reader takes: each name once for each list, with the number of items that have it.
struct UnreadMembers: Sendable {
    private struct Entry {
        var list, name, place: String
        var why: String
        var points: Int
    }

    private var entries: [Entry] = []
    private var more = 0
    /// Names at most; of the others only their number is told.
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
                ? [PhoneOmission(.pointer(""), "further members that are not read", points: more, isMember: true)] : [])
    }
}

/// What is wrong with an item.
struct ItemFault: Error, Hashable {
    var code, reason: String
}

extension PhoneBatch {
    static let notRead = "this reader does not take it"

    /// Notes the members of an item that its reader does not take.
    ///
    /// - Parameters:
    ///   - known: the names that it takes, and `also` one more.
    ///   - list: where such items stand, and `at` where this one does.
    ///   - unit: that of the item's one number; `nil` if it has several, or none: then a member that states one is only noted.
    /// - Returns: the fault of an item that states another unit.
    @discardableResult
    mutating func noteUnread(
        _ members: Members, but known: [StaticString], also: String? = nil, in list: @autoclosure () -> String,
        unit: (text: String, type: HealthType)? = nil, at place: @autoclosure () -> String
    ) -> ItemFault? {
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
                return ItemFault(
                    code: "unit",
                    reason: "\(name.prefix(64)): it states another unit than \(unit.text), which this item has")
            }
        }
        return nil
    }

    /// What says nothing: `null`, an empty text, list or object.
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

/// What a member says of the unit.
enum UnitStatement: Equatable {
    /// In the hub's grammar.
    case unit(String)
    /// It is called as a unit, or names a system of units, and is none of the type's.
    case unknown

    /// - Returns: `nil` for a member that does not state a unit.
    init?(_ name: String, _ text: String?, of type: HealthType?) {
        let isNamed = Self.isName(name)
        guard let text, !text.trimmed.isEmpty else {
            guard isNamed else { return nil }
            self = .unknown
            return
        }
        if text.utf8.count <= 64, let type, let unit = PhoneUnits.unit(text, of: type) {
            // Other members say the same words: `"activity": "steps"`, `"sex": "m"`.
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

    /// Texts that name a system of units with other ones than the hub's.
    static let systems: Set = ["imperial", "us customary", "us_customary"]

    /// Whether a member is called as one that has a unit: `unit`, `Units`, `weight_unit`, `unitOfMeasurement`, `uom`.
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

    /// What a name says before or behind the word for a unit: `weight` of `weight_unit`; empty where that is all.
    static func subject(of name: String) -> String {
        let small = name.lowercased()
        let rest = words(of: name).filter { !names.contains($0) }
        let generic: Set = [
            "of", "measurement", "measure", "name", "value", "symbol", "text", "label", "string", "code", "type",
        ]
        let own = rest.filter { !generic.contains($0) }
        if own.count == 1, own[0] == small {
            // Written in one word: `weightunit`, `unitofmeasurement`.
            guard let word = names.sorted(by: { $0.utf8.count > $1.utf8.count }).first(where: { small.hasSuffix($0) })
            else {
                return ""
            }
            return String(small.dropLast(word.count))
        }
        return own.joined(separator: "_")
    }

    /// The words of a name, in small letters: `weightUnit` and `weight-unit` have two.
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

    /// Whether two units are one, so that a number means the same in both.
    static func areSame(_ left: String, _ right: String, of type: HealthType) -> Bool {
        guard left != right else { return true }
        guard let one = try? type.meant(by: left), let other = try? type.meant(by: right) else { return false }
        return one == other
    }
}
