import Foundation
package import Samples

/// A value as people type it, read for its type: `80.4kg`, `12st 8lb`, `120/80`, `5000`, `asleepCore`.
package enum ValueArgument: Hashable, Sendable {
    case quantity(Double, unit: String)
    /// One value for each member of a correlation, in order.
    case several([Double], unit: String)
    /// A category, an activity or a text.
    case name(String)

    /// - Parameters:
    ///   - words: the words as split by the shell.
    ///   - type: `nil` for a type that only plugins know; then a number needs a unit, and all other text is a name.
    ///   - reader: the reader whose units apply to numbers without one; with `nil` a number needs a unit, unless the type is counted.
    /// - Throws: ``EntryError`` with the expected input.
    package init(_ words: [String], of type: HealthType?, for reader: DisplayPreferences? = nil) throws(EntryError) {
        let text = words.joined(separator: " ").trimmingCharacters(in: .whitespaces)
        switch type?.kind {
        case .quantity: self = try .sum(of: text, type, reader)
        case .correlation: self = try .pair(text, type, reader)
        case .category:
            guard let type else { throw EntryError("a value is missing") }
            self = .name(try ValueArgument.category(text, of: type))
        case nil where text.first?.isNumber == true: self = try .sum(of: text, nil, reader)
        default:
            guard !text.isEmpty else { throw EntryError("a value is missing") }
            self = .name(type?.values.first { !$0.isOldName && NameWords.means(text, $0.name) }?.name ?? text)
        }
        try refuseNegative(text, type)
    }

    /// Rejects negative values of masses, pressures, fractions and counts.
    private func refuseNegative(_ text: String, _ type: HealthType?) throws(EntryError) {
        guard let type else { return }
        let numbers: [Double] =
            switch self {
            case .quantity(let number, _): [number]
            case .several(let numbers, _): numbers
            case .name: []
            }
        let isAmount =
            type.kind == .correlation || type.aggregation == .cumulative
            || ["kg", "mmHg", "%"].contains(type.unit ?? "")
        guard isAmount, numbers.contains(where: { $0 < 0 }) else { return }
        throw EntryError("\"\(text)\": \(type.id) is never negative")
    }

    private static func category(_ text: String, of type: HealthType) throws(EntryError) -> String {
        if let value = type.value(named: text) { return value.name }
        let names = type.values.filter { !$0.isOldName }.map(\.name)
        if let name = names.first(where: { NameWords.means(text, $0) }) { return name }
        let words = names.map(NameWords.text).joined(separator: ", ")
        guard !text.isEmpty else {
            throw EntryError(
                names.isEmpty ? "a value is missing; any word is allowed" : "a value is missing: one of \(words)")
        }
        guard !names.isEmpty else { return text }
        let isSpan = MomentArgument.span(text) != nil
        let usual = NameWords.text(names.first { $0 == "asleepUnspecified" } ?? names[0]).lowercased()
        throw EntryError(
            "\(type.id) has no value \"\(text)\"; it has \(words)"
                + (isSpan
                    ? "; give its beginning and end beside one of them, such as '\(usual)' --from 23:10 --to 7:05" : "")
        )
    }

    // MARK: - Quantities

    /// Reads `12st 8lb` as one value in the last unit, converted exactly.
    private static func sum(
        of text: String, _ type: HealthType?, _ reader: DisplayPreferences?
    ) throws(EntryError) -> ValueArgument {
        let parts = try parts(of: text, type, reader)
        guard let last = parts.last else { throw EntryError("a value is missing, such as \(example(of: type))") }
        guard parts.count > 1 else { return .quantity(last.value, unit: last.unit) }
        let pairs = zip(parts, parts.dropFirst())
        var (sum, ones) = (0.0, [Double]())
        do throws(UnitError) {
            let unit = try HealthUnit(last.unit)
            for part in parts { sum += try HealthUnit(part.unit).convert(part.value, to: unit) }
            for (greater, less) in pairs {
                ones.append(try HealthUnit(greater.unit).convert(1, to: HealthUnit(less.unit)))
            }
        } catch { throw EntryError("\"\(text)\": \(error)") }
        // 15lb after stones, or 12in after feet, is more often a typing error than intended.
        for ((greater, less), one) in zip(pairs, ones) where !(0..<one).contains(less.value) {
            throw EntryError(
                "\"\(text)\": the part after \(greater.unit) must be at least 0 and less than 1\(greater.unit); or write the value in \(less.unit) alone"
            )
        }
        return .quantity(sum, unit: last.unit)
    }

    /// Reads `120/80`, with or without a unit.
    private static func pair(
        _ text: String, _ type: HealthType?, _ reader: DisplayPreferences?
    ) throws(EntryError) -> ValueArgument {
        let members = type?.requiredMembers ?? []
        let all = text.split(separator: "/", maxSplits: max(members.count - 1, 0), omittingEmptySubsequences: false)
        guard !members.isEmpty else {
            throw EntryError(
                "\(type?.id.rawValue ?? "") is a group of records and has no value; edit its members, whose numbers hub samples shows"
            )
        }
        guard all.count == members.count else {
            let names = members.map(\.rawValue).joined(separator: "/")
            throw EntryError("\"\(text)\": expected \(names), such as 120/80")
        }
        let member = TypeRegistry.standard.type(members[members.count - 1])
        guard case .quantity(let last, let unit) = try sum(of: String(all[all.count - 1]), member, reader) else {
            return .several([], unit: "")
        }
        var values: [Double] = []
        for word in all.dropLast() { values.append(try number(String(word).trimmingCharacters(in: .whitespaces))) }
        if type?.id == .bloodPressure, let first = values.first, first >= 0, first <= last {
            throw EntryError("\"\(text)\": the systolic pressure, which is the greater one, comes first")
        }
        return .several(values + [last], unit: unit)
    }

    private static func parts(
        of text: String, _ type: HealthType?, _ reader: DisplayPreferences?
    ) throws(EntryError) -> [(value: Double, unit: String)] {
        var (rest, parts): (Substring, [(value: Double, unit: String)]) = (text[...], [])
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isNumber || ".,+-".contains($0) }
            guard rest[digits.endIndex...].prefixMatch(of: /[eE][+\-]?[0-9]/) == nil else {
                throw EntryError("\"\(text)\": write the number without an exponent, such as \(example(of: type))")
            }
            rest = rest[digits.endIndex...].drop { $0 == " " }
            guard !digits.isEmpty else {
                throw EntryError("\"\(text)\": expected a number, such as \(example(of: type))")
            }
            let word = unitWord(rest)
            rest = rest[word.endIndex...].drop { $0 == " " }
            // After another unit, as in `12st 4`, the missing unit is not the person's usual one.
            let unit =
                try word.isEmpty
                ? self.unit(of: type, parts.isEmpty ? reader : nil, String(parts.isEmpty ? text[...] : digits))
                : spelled(String(word), of: type, text)
            let value =
                unit == "%" ? try percent(String(digits)) : try number(String(digits), unit, of: type, for: reader)
            parts.append((value, unit))
        }
        return parts
    }

    /// The unit at the beginning of `text`: it ends at a space or at the next number (`12st8lb`).
    private static func unitWord(_ text: Substring) -> Substring {
        let word = text.prefix { $0 != " " }
        if (try? HealthUnit(String(word))) != nil { return word }
        guard let next = word.firstIndex(where: \.isNumber), next != word.startIndex else { return word }
        return word[..<next]
    }

    /// HealthKit's spelling of a unit that people write.
    private static func spelled(_ word: String, of type: HealthType?, _ text: String) throws(EntryError) -> String {
        do throws(UnitError) {
            _ = try HealthUnit(word)
            return word
        } catch {
            for other in [UnitHints.usual(word), UnitHints.usual(word.lowercased()), word.lowercased()] {
                if let other, (try? HealthUnit(other)) != nil { return other }
            }
            throw EntryError("\"\(text)\": there is no unit \(word); \(hint(of: type))")
        }
    }

    /// The unit of a number without one: counts, heart rates and blood pressures have a single unit, all others use the person's.
    private static func unit(of type: HealthType?, _ reader: DisplayPreferences?, _ text: String) throws(EntryError)
        -> String
    {
        if let unit = type?.unit, ["count", "count/min", "mmHg"].contains(unit) { return unit }
        if let reader, let own = type?.unit, case let unit = reader.unit(own, of: type), !unit.contains("+") {
            if let (first, second) = meanings(of: text, type) {
                throw EntryError("\"\(text)\" can be \(first) or \(second); write the one that you mean")
            }
            return unit
        }
        throw EntryError("\(text) of what? \(hint(of: type))")
    }

    /// The two fractions that a number of at most one may mean: `0.245%` and `24.5%`; `nil` for any other text.
    package static func meanings(of text: String, _ type: HealthType?) -> (String, String)? {
        guard type?.unit == "%", let number = try? number(text), 0 < number, number <= 1,
            let decimal = (try? pointed(text)).flatMap({ Decimal(string: $0) })
        else { return nil }
        return ("\(decimal)%", "\(decimal * 100)%")
    }

    private static func hint(of type: HealthType?) -> String {
        guard let type else { return "give one as HealthKit spells it: \(example(of: nil))" }
        let units = type.typicalDisplayUnits.filter { !$0.contains("+") }.joined(separator: ", ")
        return "\(type.id) is given in \(units): \(example(of: type))"
    }

    private static func example(of type: HealthType?) -> String {
        switch type?.unit {
        case "kg": "80.4kg"
        case "%": "18.2%"
        case "count": "5000"
        case "count/min": "62"
        case let unit?: "1\(unit)"
        case nil: "80.4kg"
        }
    }

    // MARK: - Numbers

    /// Reads a number.
    ///
    /// If its separator may start a fraction or separate thousands, only one reading may be possible for the type.
    ///
    /// A point separates thousands only if the person's language uses a decimal comma, and in counts, which have no thousandths.
    private static func number(
        _ text: String, _ unit: String, of type: HealthType?, for reader: DisplayPreferences?
    ) throws(EntryError) -> Double {
        guard let type, let readings = Readings(text),
            readings.hasComma || type.unit == "count" && type.aggregation == .cumulative
                || reader?.locale?.decimalSeparator == ","
        else { return try number(text) }
        let possible = [readings.fraction, readings.thousands].compactMap(Double.init).filter { number in
            guard let value = try? type.canonicalValue(number, unit: unit) else { return true }
            return type.limits?.objection(to: value, of: type.id, unit: type.unit ?? "") == nil
        }
        // If one reading is impossible, the other must also be plausible.
        guard possible.count == 1, let value = try? type.canonicalValue(possible[0], unit: unit),
            type.limits?.plausible.contains(value) ?? true
        else { throw readings.fault(text) }
        return possible[0]
    }

    /// The two readings of digits with one separator before the last three.
    private struct Readings {
        let fraction, thousands: String
        let hasComma: Bool

        init?(_ text: String) {
            guard let match = text.wholeMatch(of: /([+\-]?[1-9][0-9]{0,2})([.,])([0-9]{3})/) else { return nil }
            (fraction, thousands) = ("\(match.1).\(match.3)", "\(match.1)\(match.3)")
            hasComma = match.2 == ","
        }

        /// An error that names both readings unambiguously.
        func fault(_ text: String) -> EntryError {
            var plain = fraction[...]
            while plain.last == "0" { plain.removeLast() }
            if plain.last == "." { plain.removeLast() }
            return EntryError(
                "\"\(text)\" can be read in two ways; write \(plain == fraction ? fraction + "0" : plain) or \(thousands)"
            )
        }
    }

    /// Reads a number with a decimal point, or with a decimal comma that cannot separate thousands.
    package static func number(_ text: String) throws(EntryError) -> Double {
        let digits = try pointed(text)
        guard let number = Double(digits), number.isFinite else { throw EntryError("\"\(text)\" is not a number") }
        return number
    }

    /// Converts percent to a fraction by moving the decimal point, without rounding.
    private static func percent(_ text: String) throws(EntryError) -> Double {
        // A percentage has no thousands, so the separator starts a fraction.
        var digits = Readings(text)?.fraction
        if digits == nil { digits = try pointed(text) }
        guard let decimal = digits.flatMap({ Decimal(string: $0) }), let value = Double("\(decimal / 100)") else {
            throw EntryError("\"\(text)\" is not a number")
        }
        return value
    }

    private static func pointed(_ text: String) throws(EntryError) -> String {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count > 1 else { return text }
        if let readings = Readings(text) { throw readings.fault(text) }
        guard parts.count == 2, !text.contains("."), !parts[1].isEmpty else {
            throw EntryError(
                "\"\(text)\" is not a number; write it with a decimal point and without separators between thousands")
        }
        return "\(parts[0]).\(parts[1])"
    }
}
