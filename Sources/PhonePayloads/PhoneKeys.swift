import Digests
import Foundation
import Samples

/// What tells one sample of a phone from another, where the phone sends no identity.
enum PhoneKeys {
    /// The first 8 hexadecimal digits of the SHA-256 of the parts, each as it is compared.
    static func hash(_ parts: String...) -> String {
        let text = parts.map(compared).joined(separator: "\u{1F}")
        return Digests.sha256(text.utf8).prefix(4).hexadecimal
    }

    /// Names as they are compared: phones write the same one with other spaces, apostrophes and capitals.
    static func compared(_ text: String) -> String {
        let plain = text.utf8.allSatisfy { $0 < 0x80 }
        guard !plain else { return text.trimmingCharacters(in: .whitespacesAndNewlines).lowercased() }
        return text.precomposedStringWithCanonicalMapping
            .replacing("\u{A0}", with: " ").replacing("\u{202F}", with: " ").replacing("\u{2019}", with: "'")
            .trimmingCharacters(in: .whitespacesAndNewlines).lowercased()
    }

    /// A name in small letters, with every run of other characters than letters and digits as one `_`.
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

    /// A key from what the readers put together; `nil` where that is too long.
    static func key(_ text: String) -> RecordKey? { RecordKey(text) }
}
