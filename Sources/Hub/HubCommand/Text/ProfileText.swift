import Foundation
import HealthText
import HubClient
import HubWire
import Samples

/// The characteristics of a person on a day.
struct ProfileReport: Encodable {
    let person, uid: String
    /// The day of ``age``.
    let on: String
    /// In years; absent if no date of birth is known, or the day is before it.
    let age: Int?
    let characteristics: [String: HubStatus.Characteristic]

    /// - Parameters:
    ///   - on: the day; `nil` for today in the person's zone.
    ///   - now: the hub's clock.
    init(_ status: HubStatus.PersonStatus, on: LocalDate?, now: Timestamp) throws(Failure) {
        let zone = status.zone ?? TimeZone.current.identifier
        guard let day = on ?? LocalDay.of(now, sampleZone: nil, personZone: zone, policy: .fixed) else {
            throw Failure(.system, "this machine knows no zone \(zone); say the day with --on")
        }
        (person, uid, self.on) = (status.name, status.uid, day.text)
        characteristics = status.characteristics ?? [:]
        age = characteristics[TypeID.dateOfBirth.rawValue]?.value.flatMap { LocalDate($0) }?.age(on: day)
    }
}

/// `hub profile` for people.
enum ProfileText {
    /// The order of characteristics; others of the registry follow if they are known.
    private static let usual: [TypeID] = [
        .dateOfBirth, .biologicalSex, .bloodType, .fitzpatrickSkinType, .wheelchairUse, .activityMoveMode,
    ]

    static func table() -> Table { Table(["PERSON", "WHAT", "VALUE", "SAID BY"]) }

    static func rows(_ profile: ProfileReport, _ reader: DisplayPreferences) -> [[String]] {
        let others = profile.characteristics.keys.compactMap { try? TypeID($0) }
            .filter { !usual.contains($0) && profile.characteristics[$0.rawValue]?.value != nil }
        return (usual + others.sorted { $0.rawValue < $1.rawValue }).map { type in
            let known = profile.characteristics[type.rawValue] ?? HubStatus.Characteristic()
            var value = ProfileWords.text(known.value, of: type, reader)
            if type == .dateOfBirth, known.value != nil {
                value += profile.age.map { ", \(NumberText.count($0, "year")) old" } ?? ", not born yet"
            }
            let person = reader.displayName ?? profile.person
            return [person, ProfileWords.title(type), value, origin(known, of: type, reader)]
        }
    }

    /// `hub.conf; record 12 says male`, `record 17 since 2026-03-01`.
    private static func origin(_ known: HubStatus.Characteristic, of type: TypeID, _ reader: DisplayPreferences)
        -> String
    {
        switch known.from {
        case .configuration:
            let other = known.overruled.map { other in
                "; record \(other.number ?? 0) says \(ProfileWords.text(other.value, of: type, reader))"
            }
            return "hub.conf" + (other ?? "")
        case .record:
            let since = known.start.flatMap { LocalDate($0.prefix(10)) }.map { " since \(reader.date($0))" }
            return "record \(known.number ?? 0)" + (since ?? "")
        default: return known.from?.rawValue ?? ""
        }
    }
}

/// The values of characteristics in the words of people.
enum ProfileWords {
    /// The value of a record that states no value.
    static let notSet = "notSet"

    private static func word(_ value: String, of type: TypeID) -> String {
        switch (type, value) {
        case (.bloodType, _): NameWords.text(value)
        case (.activityMoveMode, "activeEnergy"): "active energy"
        case (.activityMoveMode, "appleMoveTime"): "move time"
        default: value
        }
    }

    /// `Blood type`.
    static func title(_ type: TypeID) -> String { TypeRegistry.standard.type(type)?.displayName ?? type.rawValue }

    /// - Parameter value: the stored value; `nil` if it is not set.
    static func text(_ value: String?, of type: TypeID, _ reader: DisplayPreferences) -> String {
        guard let value, value != notSet else { return "not set" }
        if type == .dateOfBirth { return LocalDate(value).map(reader.date) ?? value }
        return word(value, of: type)
    }

    /// The stored form of the value that a person means by `text`.
    ///
    /// - Throws: ``HubExit/usage`` with the possible values.
    static func value(_ text: String, of type: TypeID) throws(Failure) -> String {
        // Some people write the blood group O with a zero.
        let typed = plain(type == .bloodType && text.hasPrefix("0") ? "O" + text.dropFirst() : text)
        let values = TypeRegistry.standard.type(type)?.values.map(\.name) ?? []
        if typed == plain(notSet), type == .dateOfBirth || values.contains(notSet) { return notSet }
        if type == .dateOfBirth {
            guard let date = LocalDate(typed: text) else {
                throw Failure(.usage, "\"\(Terminal.cut(text))\" is not a date of birth such as 1984-05-06 or 6.5.1984")
            }
            return date.text
        }
        guard let value = values.first(where: { plain($0) == typed || plain(word($0, of: type)) == typed }) else {
            let known = values.map { $0 == notSet ? "not-set" : word($0, of: type).replacing(" ", with: "-") }
            throw Failure(
                .usage, "\"\(Terminal.cut(text))\" is not a value of \(type); it has \(known.joined(separator: ", "))")
        }
        return value
    }

    /// The text without case and spaces; a minus at the end stays, because it distinguishes A- from A+.
    private static func plain(_ text: String) -> String {
        let sign = text.hasSuffix("-") || text.hasSuffix("−") || text.hasSuffix("–") ? "-" : ""
        return text.lowercased().filter { $0.isLetter || $0.isNumber || $0 == "+" } + sign
    }
}
