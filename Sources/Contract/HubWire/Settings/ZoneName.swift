import Foundation

/// Names of time zones as people type them: `Europe/Berlin`, `berlin`, `New York`.
package enum ZoneName {
    /// The zone names that a text may mean: an exact match, else the zones of that place; empty if there is none.
    package static func meant(by text: String) -> [String] {
        let word = plain(text)
        guard !word.isEmpty else { return [] }
        let known = TimeZone.knownTimeZoneIdentifiers
        if let name = (known + ["UTC", "GMT"]).first(where: { plain($0) == word }) { return [name] }
        return known.filter { $0.split(separator: "/").last.map { plain(String($0)) } == word }.sorted()
    }

    /// The only name that a text can mean; `nil` if there is none, or several.
    package static func one(meantBy text: String) -> String? {
        let names = meant(by: text)
        return names.count == 1 ? names[0] : nil
    }

    private static func plain(_ text: String) -> String {
        text.lowercased().replacing("_", with: " ").trimmingCharacters(in: .whitespaces)
    }
}
