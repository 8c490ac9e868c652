import Foundation
import Platform

/// A secret of 256 random bits; only its hash is stored.
struct AccessKey: Sendable {
    /// The text for addresses and cookies: letters, digits, `-` and `_`.
    let text: String

    init() {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
        text = Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
    }

    /// - Returns: nil for a text that has not the form of a key.
    init?(_ text: some StringProtocol) {
        guard text.utf8.count == 43, text.utf8.allSatisfy(Self.isLetter) else { return nil }
        self.text = String(text)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
        default: false
        }
    }

    /// The hash by which the key is stored and found: it reveals nothing of 256 random bits, and look-ups take constant time.
    var hash: String { Digests.sha256(text.utf8).hexadecimal }
}
