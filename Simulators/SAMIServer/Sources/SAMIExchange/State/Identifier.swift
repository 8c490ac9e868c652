import Platform

/// Identifiers that cannot be guessed: 32 hexadecimal digits, like SAMI's.
enum Identifier {
    static func make() -> String {
        (0..<16).map { _ in UInt8.random(in: .min ... .max) }.hexadecimal
    }
}
