import PluginKit

/// Finds the person of a token by the token's name.
enum TokenOwner {
    /// The person with whose name it begins, in any case; the longest name wins, so `anna-maria-phone` belongs to `anna-maria`.
    static func named(by token: String, _ persons: [Welcome.PersonEntry]) -> Welcome.PersonEntry? {
        func length(_ person: Welcome.PersonEntry) -> Int {
            names(of: person).filter { begins(token, with: $0) }.map(\.utf8.count).max() ?? 0
        }
        return persons.filter { length($0) > 0 }.max { length($0) < length($1) }
    }

    /// The person that a misspelled name probably means: `annas-phone`, `anna_phone`, `ana-phone`.
    static func meant(by token: String, _ persons: [Welcome.PersonEntry]) -> String? {
        let folded = PersonName.folded(token)
        let first = String(token.prefix { $0.isLetter || $0.isNumber })
        let begun = persons.filter { person in names(of: person).contains { folded.hasPrefix($0) } }
        if let longest = begun.max(by: { $0.name.utf8.count < $1.name.utf8.count }) { return longest.name }
        return nearestName(to: first, among: persons.flatMap(names)).flatMap { persons.named($0)?.name }
    }

    private static func names(of person: Welcome.PersonEntry) -> [String] {
        [person.name, person.displayName].compactMap(\.self).map(PersonName.folded)
    }

    private static func begins(_ token: String, with name: String) -> Bool {
        let token = PersonName.folded(token)
        return token == name || token.hasPrefix("\(name)-") || token.hasPrefix("\(name).")
    }
}
