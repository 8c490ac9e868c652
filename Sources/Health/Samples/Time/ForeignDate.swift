/// Dates as phones of other languages and calendars print them.
package enum ForeignDate {
    /// The text with the digits 0 to 9, plain spaces, minus signs and decimal points, and whether it had other digits.
    ///
    /// Removes marks that control the direction of the text. `nil` if a digit has no value.
    package static func plain(_ text: String) -> (scalars: [Unicode.Scalar], hadDigits: Bool)? {
        var (scalars, hadDigits): ([Unicode.Scalar], Bool) = ([], false)
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .format: continue
            case .spaceSeparator: scalars.append(" ")
            case .decimalNumber:
                guard let digit = scalar.properties.numericValue.flatMap({ UInt8(exactly: $0) }) else { return nil }
                hadDigits = hadDigits || !scalar.isASCII
                scalars.append(Unicode.Scalar(0x30 + digit))
            default: scalars.append(scalar == "\u{2212}" ? "-" : scalar == "\u{66B}" ? "." : scalar)
            }
        }
        return (scalars, hadDigits)
    }

    /// The Gregorian year of a written year; `nil` if it can mean several.
    ///
    /// No measurement dates from the years 2 to 1899, so these numbers are years of other calendars: Iran's, the Islamic ones, the Coptic one
    /// and
    /// those of Taiwan and Japan. The Hebrew calendar's years of this century are ambiguous as well. Thailand's years have the same months
    /// and days
    /// and are 543 ahead; no other calendar uses them.
    package static func gregorianYear(_ written: Int) -> Int? {
        switch written {
        case 2...1_899, 5_700...5_900: nil
        case 2_443...2_743: written - 543
        default: written
        }
    }

    /// Reads a day written as `yyyy-MM-dd`; `nil` if the form differs, the day does not exist, or several calendars fit.
    package static func day(_ text: String) -> LocalDate? {
        // Convert the year before checking the day: Thailand's leap years are not those of the Gregorian years with the same number.
        guard text.utf8.count == 10, let written = Int(text.prefix(4)), let year = gregorianYear(written) else {
            return nil
        }
        return LocalDate(String(repeating: "0", count: max(4 - "\(year)".count, 0)) + "\(year)" + text.dropFirst(4))
    }
}
