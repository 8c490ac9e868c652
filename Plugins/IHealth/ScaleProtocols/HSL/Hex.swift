extension [UInt8] {
    /// Two lower-case hex digits for each byte.
    package var hex: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }

    /// Decodes an even number of hex digits; `nil` for any other text.
    package init?(hex text: String) {
        let digits = Array(text.utf8)
        guard digits.count % 2 == 0 else { return nil }
        self = []
        for start in stride(from: 0, to: digits.count, by: 2) {
            guard let high = Character(UnicodeScalar(digits[start])).hexDigitValue,
                let low = Character(UnicodeScalar(digits[start + 1])).hexDigitValue
            else { return nil }
            append(UInt8(high << 4 | low))
        }
    }
}
