/// Random names with 5 bits per character, from the system's generator.
enum RandomName {
    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".unicodeScalars)

    static func make(length: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        var text = ""
        for _ in 0..<length { text.unicodeScalars.append(alphabet[Int(generator.next() & 31)]) }
        return text
    }

    /// 130 bits, so no hub generates the same uid twice.
    static func uid() -> String { make(length: 26) }

    static func epoch() -> String { make(length: 8) }
}
