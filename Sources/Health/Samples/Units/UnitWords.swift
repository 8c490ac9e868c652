/// Units as apps, devices and other programs spell them.
///
/// Contains only spellings that mean a single unit: `calories` may be small or large ones, and `C` may be a coulomb.
package enum UnitWords {
    /// The hub's spelling; `nil` if there is none, or if the text may mean several units.
    package static func spelling(of text: String) -> String? {
        if let word = words[text] { return word }
        let plain = text.replacing("\u{A0}", with: " ").replacing("\u{202F}", with: " ").trimmingSpaces
        // A single letter may mean another unit in the other case.
        return words[plain] ?? (plain.utf8.count > 1 ? words[plain.lowercased()] : nil)
    }

    private static let words = UnitText.spellings(by: \.words)
}

extension String {
    fileprivate var trimmingSpaces: String {
        var text = self[...]
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
