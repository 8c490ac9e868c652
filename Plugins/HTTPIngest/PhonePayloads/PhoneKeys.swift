import Foundation
import Platform
import Samples

/// Makes keys that distinguish the samples of a phone, if the phone sends no identity.
enum PhoneKeys {
    /// The first 8 hexadecimal digits of the SHA-256 of the normalised parts.
    static func hash(_ parts: String...) -> String {
        let text = parts.map(compared).joined(separator: "\u{1F}")
        return Digests.sha256(text.utf8).prefix(4).hexadecimal
    }

    /// Normalises a name for comparison, because phones vary spaces, apostrophes and capitals.
    static func compared(_ text: String) -> String {
        let plain = text.utf8.allSatisfy { $0 < 0x80 }
        guard !plain else { return text.trimmingCharacters(in: .whitespacesAndNewlines).lowercased() }
        return text.precomposedStringWithCanonicalMapping
            .replacing("\u{A0}", with: " ").replacing("\u{202F}", with: " ").replacing("\u{2019}", with: "'")
            .trimmingCharacters(in: .whitespacesAndNewlines).lowercased()
    }

    /// A name in lower case, with every run of characters other than letters and digits replaced with one `_`.
    static func folded(_ text: String) -> String {
        var (folded, isPending) = ("", false)
        for character in text.lowercased() {
            guard character.isLetter || character.isNumber else {
                isPending = !folded.isEmpty
                continue
            }
            if isPending { folded += "_" }
            isPending = false
            folded.append(character)
        }
        return folded
    }
}
