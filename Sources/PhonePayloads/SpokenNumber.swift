import Samples

/// A number that a phone wrote as a text, by the rules of its region.
enum SpokenNumber: Equatable {
    /// In the digits of JSON.
    case number(String)
    /// One separator before three digits, which either begins a fraction or stands between thousands.
    case ambiguous(fraction: String, thousands: String)
    /// No number, or one that is written by no rule.
    case none

    /// Reads digits of any script.
    ///
    /// Spaces and apostrophes stand between thousands, points and commas for either; thousands are groups of three digits.
    init(_ text: String) {
        guard let shape = Shape(text), let reading = shape.reading else {
            self = .none
            return
        }
        self = reading
    }

    /// The separators, each as what it can mean.
    private enum Mark { case point, comma, fraction, thousands }

    private struct Shape {
        var sign = ""
        /// Digits before, between and behind the marks: one more than marks.
        var runs = [""]
        var marks: [Mark] = []

        /// `nil` where anything else stands there.
        init?(_ text: String) {
            /// The zero of the digits' script: a number has digits of one script.
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

        /// The runs up to that one as one number; `nil` where they are not groups of three digits.
        private func thousands(_ count: Int) -> String? {
            let groups = runs[..<count]
            guard count > 1 else { return runs[0] }
            guard (1...3).contains(groups[0].count), groups[0] != "0", groups.dropFirst().allSatisfy({ $0.count == 3 })
            else { return nil }
            return groups.joined()
        }

        var reading: SpokenNumber? {
            guard let last = marks.last else { return number(runs[0], "") }
            let before = marks.dropLast()
            let fraction = runs[runs.count - 1]
            // Of all but the last every one stands between thousands, and all are of one kind.
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

        private func number(_ whole: String, _ fraction: String) -> SpokenNumber? {
            let digits = String(whole.drop { $0 == "0" })
            let text =
                (sign == "-" ? "-" : "") + (digits.isEmpty ? "0" : digits) + (fraction.isEmpty ? "" : ".\(fraction)")
            return Double(text).flatMap { $0.isFinite ? .number(text) : nil }
        }
    }

    /// The number as the type can have it; a text that can be read in two ways is read if the hub takes only one of them.
    ///
    /// - Returns: the digits; or what is wrong.
    func digits(_ text: String, unit: String, of type: HealthType) -> Result<String, Fault> {
        switch self {
        case .number(let digits): return .success(digits)
        case .none:
            return .failure(Fault(reason: "value: a number, and nothing beside it, such as 1234.5"))
        case .ambiguous(let fraction, let thousands):
            let possible = [fraction, thousands].filter { digits in
                Double(digits).map { PhoneNumbers.fault($0, unit, type) == nil } ?? false
            }
            if possible.count == 1 { return .success(possible[0]) }
            return .failure(
                Fault(
                    reason:
                        "value: its separator can begin a fraction, or stand between thousands; send a number, not a text"
                ))
        }
    }

    struct Fault: Error { let reason: String }
}
