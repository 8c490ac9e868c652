/// Identifiers that cannot be guessed: 32 hexadecimal digits, like SAMI's.
enum Identifier {
    static func make() -> String {
        (0..<16).map { _ in
            let byte = UInt8.random(in: .min ... .max)
            return (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}
