import Samples

/// A number that a phone wrote as text, by the rules of its region.
enum LocalizedNumber: Equatable {
    /// The number in JSON digits.
    case number(String)
    /// One separator before three digits, which either starts a fraction or separates thousands.
    case ambiguous(fraction: String, thousands: String)
    /// Not a number in any known notation.
    case none

    /// Reads digits of any script.
    ///
    /// Spaces and apostrophes separate thousands; points and commas separate thousands or a fraction. Thousands are groups of three digits.
    init(_ text: String) {
        guard let shape = Shape(text), let reading = shape.reading else {
            self = .none
            return
        }
        self = reading
    }

    /// A separator, by its possible meanings.
    private enum Mark { case point, comma, fraction, thousands }

    private struct Shape {
        var sign = ""
        /// The digits before, between and after the marks: one more than there are marks.
        var runs = [""]
        var marks: [Mark] = []

        /// `nil` if the text contains anything else.
        init?(_ text: String) {
            /// The zero of the script of the digits; all digits of a number have the same script.
            var zero: UInt32?
            for scalar in text.trimmed.unicodeScalars where scalar.properties.generalCategory != .format {
                if scalar.properties.generalCategory == .decimalNumber,
                    let digit = scalar.properties.numericValue.flatMap({ UInt32(exactly: $0) })
                {
                    guard zero == nil || zero == scalar.value - digit else { return nil }
                    zero = scalar.value - digit
                    runs[runs.count - 1] += "\(digit)"
                    continue
                }
                switch scalar {
                case "+", "-", "\u{2212}":
                    guard sign.isEmpty, runs == [""], marks.isEmpty else { return nil }
                    sign = scalar == "+" ? "+" : "-"
                    continue
                case ".", "\u{FF0E}": marks.append(.point)
                case ",", "\u{FF0C}": marks.append(.comma)
                case "\u{66B}": marks.append(.fraction)
                case "\u{66C}", "'", "\u{2019}", "\u{2BC}", "\u{FF07}": marks.append(.thousands)
                case _ where scalar.properties.generalCategory == .spaceSeparator:
                    if runs == [""] { continue }
                    marks.append(.thousands)
                default: return nil
                }
                runs.append("")
            }
            guard !runs.allSatisfy(\.isEmpty) else { return nil }
        }

        /// The first `count` runs as one number; `nil` if they are not groups of three digits.
        private func thousands(_ count: Int) -> String? {
            let groups = runs[..<count]
            guard count > 1 else { return runs[0] }
            guard (1...3).contains(groups[0].count), groups[0] != "0", groups.dropFirst().allSatisfy({ $0.count == 3 })
            else { return nil }
            return groups.joined()
        }

        var reading: LocalizedNumber? {
            guard let last = marks.last else { return number(runs[0], "") }
            let before = marks.dropLast()
            let fraction = runs[runs.count - 1]
            // All separators except the last one separate thousands and are the same character.
            guard Set(before).count <= 1, !before.contains(.fraction) else { return nil }
            if last == .thousands || before.contains(last) {
                guard before.allSatisfy({ $0 == last }) else { return nil }
                return thousands(runs.count).flatMap { number($0, "") }
            }
            guard !fraction.isEmpty, let whole = thousands(runs.count - 1) else { return nil }
            let mayBeThousands = fraction.count == 3 && (1...3).contains(whole.count) && whole != "0"
            guard before.isEmpty, last != .fraction, mayBeThousands else { return number(whole, fraction) }
            guard case .number(let one)? = number(whole, fraction),
                case .number(let other)? = number(whole + fraction, "")
            else { return nil }
            return .ambiguous(fraction: one, thousands: other)
        }

        private func number(_ whole: String, _ fraction: String) -> LocalizedNumber? {
            let digits = String(whole.drop { $0 == "0" })
            let text =
                (sign == "-" ? "-" : "") + (digits.isEmpty ? "0" : digits) + (fraction.isEmpty ? "" : ".\(fraction)")
            return Double(text).flatMap { $0.isFinite ? .number(text) : nil }
        }
    }

    /// The number if it is possible for the type.
    ///
    /// A text with two readings is accepted if the hub accepts only one of them.
    ///
    /// - Returns: the digits.
    func digits(unit: String, of type: HealthType) throws(ItemError) -> String {
        switch self {
        case .number(let digits): return digits
        case .none: throw ItemError("value", "value: a number, and nothing beside it, such as 1234.5")
        case .ambiguous(let fraction, let thousands):
            let possible = [fraction, thousands].filter { digits in
                Double(digits).map { PhoneNumbers.fault($0, unit, type) == nil } ?? false
            }
            if possible.count == 1 { return possible[0] }
            throw ItemError(
                "value",
                "value: its separator can begin a fraction, or stand between thousands; send a number, not a text")
        }
    }
}
