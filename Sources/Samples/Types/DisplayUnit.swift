/// How people read the values of a type: in which unit, under which name, and with how many decimals.
///
/// For screens alone. A rounded text is never read back: programs get every digit.
package struct DisplayUnit: Sendable {
    private enum Form: Sendable {
        /// A fraction, shown in hundredths.
        case percent
        /// Stones and pounds.
        case stones(HealthUnit)
        case unit(HealthUnit?)
    }

    private let form: Form
    /// The unit that values come in.
    private let own: HealthUnit?
    private let name: String
    private let decimals: ClosedRange<Int>

    /// The table of Docs/Samples.md: how many decimals a unit has at least and at most.
    ///
    /// A unit that is not named here has up to two.
    package static let decimals: [String: ClosedRange<Int>] = [
        "kg": 1...1, "lb": 1...1, "degC": 1...1, "degF": 1...1, "mmol/L": 1...1,
        "g": 0...1, "mg": 0...1, "mcg": 0...1, "oz": 0...1, "%": 0...1, "cm": 0...1, "in": 0...1, "ft": 0...1,
        "min": 0...1, "s": 0...1, "dBASPL": 0...1, "km/hr": 0...1, "mi/hr": 0...1, "IU": 0...1, "mL/kg·min": 0...1,
        "count": 0...0, "count/min": 0...0, "kcal": 0...0, "kJ": 0...0, "kcal/d": 0...0, "W": 0...0, "mmHg": 0...0,
        "mg/dL": 0...0, "ms": 0...0, "mL": 0...0, "fl_oz_us": 0...0, "L/min": 0...0,
    ]

    /// Types that are read otherwise than their unit.
    private static let exceptions: [TypeID: ClosedRange<Int>] = [.bodyMassIndex: 1...1]

    /// What people call a unit where that is not HealthKit's name; a count has no name at all.
    private static let names = [
        "count": "", "appleEffortScore": "", "count/min": "/min", "degC": "°C", "degF": "°F", "mcg": "µg",
        "km/hr": "km/h", "mi/hr": "mph",
    ]

    /// - Parameters:
    ///   - own: the unit that values come in.
    ///   - type: `nil` for a type that only plugins know.
    ///   - reader: in what the person reads weights: `kg`, `lb` or `st`; counts where the type is a weight of the body.
    package init(_ own: String, of type: HealthType?, reader: String?) {
        self.own = try? HealthUnit(own)
        let usual = DisplayUnit.usual(own, type)
        let isStones = reader == "st" && usual.contains("st")
        let preferred = isStones || reader == "st" ? "lb" : reader
        let shown = preferred.flatMap { usual.contains($0) ? $0 : nil } ?? usual[0]
        let plain = DisplayUnit.withoutMass(shown)
        name = DisplayUnit.names[plain] ?? plain
        decimals = type.flatMap { DisplayUnit.exceptions[$0.id] } ?? DisplayUnit.decimals[plain] ?? 0...2
        let unit = shown == own ? nil : try? HealthUnit(shown)
        form = shown == "%" ? .percent : isStones ? unit.map(Form.stones) ?? .unit(nil) : .unit(unit)
    }

    /// The units in which values that come in `own` are read, the usual one first.
    private static func usual(_ own: String, _ type: HealthType?) -> [String] {
        // `ft+in` are two units together.
        let units = type?.typicalDisplayUnits.filter { !$0.contains("+") } ?? []
        guard units.isEmpty else { return type?.unit == own ? units : [own] }
        return own == "kg" ? ["kg", "lb", "st"] : [own]
    }

    /// `mmol<180.156>/L` is read as `mmol/L`.
    private static func withoutMass(_ unit: String) -> String {
        guard let start = unit.firstIndex(of: "<"), let end = unit.firstIndex(of: ">"), start < end else { return unit }
        return String(unit[..<start] + unit[unit.index(after: end)...])
    }

    /// `177.0 lb`, `12 st 9 lb`, `18.2 %`, `5000`.
    ///
    /// - Parameter finer: so many more decimals, to tell two values apart.
    package func text(_ value: Double, finer: Int = 0) -> String {
        switch form {
        case .percent: return named(Decimals.text(value, movedBy: 2, within(finer)))
        case .unit(let unit): return named(Decimals.text(converted(value, to: unit), within(finer)))
        case .stones(let pounds):
            let pounds = converted(value, to: pounds)
            // What is less than a stone, and what is compared closely, is read in pounds.
            guard finer == 0, (14...1e9).contains(pounds.magnitude) else {
                return named(Decimals.text(pounds, within(finer)))
            }
            // The smaller unit is rounded first: 13.96 lb are one stone more.
            let tenths = Int((pounds.magnitude * 10).rounded())
            let (stones, rest) = tenths.quotientAndRemainder(dividingBy: 140)
            let fraction = rest % 10 == 0 ? "" : ".\(rest % 10)"
            return "\(pounds < 0 ? "-" : "")\(stones) st \(rest / 10)\(fraction) lb"
        }
    }

    private func within(_ finer: Int) -> ClosedRange<Int> { decimals.lowerBound...decimals.upperBound + finer }

    private func named(_ number: String) -> String { name.isEmpty ? number : "\(number) \(name)" }

    private func converted(_ value: Double, to unit: HealthUnit?) -> Double {
        guard let unit, let own, let value = try? own.convert(value, to: unit) else { return value }
        return value
    }
}

/// Decimal digits of a double, rounded for reading.
private enum Decimals {
    /// `value` with at least and at most so many decimals; a small one keeps two digits that say something: `0.072`.
    ///
    /// Rounds the shortest decimal that is the same double, half away from zero, as people do by hand.
    /// - Parameter shift: moves the decimal point so far to the right first.
    static func text(_ value: Double, movedBy shift: Int = 0, _ decimals: ClosedRange<Int>) -> String {
        guard value.isFinite else { return "\(value)" }
        let parts = "\(value.magnitude)".split(separator: "e")
        let mantissa = parts[0].split(separator: ".", omittingEmptySubsequences: false)
        let exponent = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
        var digits = mantissa.joined().utf8.map { Int($0) - 0x30 }
        // The value is 0.d₁d₂d₃… times ten to the power of `point`.
        var point = mantissa[0].count + exponent + shift
        while digits.first == 0 { (digits, point) = (Array(digits.dropFirst()), point - 1) }
        if digits.isEmpty { point = 0 }
        guard (-12...16).contains(point) else { return "\(value)" }
        round(&digits, &point, to: max(point + decimals.upperBound, 2))
        while digits.last == 0, digits.count - point > decimals.lowerBound { digits.removeLast() }
        let zeros = max(0, point + decimals.lowerBound - digits.count)
        let all = Array(repeating: 0, count: max(0, 1 - point)) + digits + Array(repeating: 0, count: zeros)
        let whole = max(1, point)
        func text(_ digits: some Sequence<Int>) -> String { digits.map(String.init).joined() }
        let fraction = all.dropFirst(whole)
        return (value < 0 ? "-" : "") + text(all.prefix(whole)) + (fraction.isEmpty ? "" : "." + text(fraction))
    }

    /// Keeps the first `count` digits.
    private static func round(_ digits: inout [Int], _ point: inout Int, to count: Int) {
        guard digits.count > count else { return }
        let isUp = digits[count] >= 5
        digits.removeLast(digits.count - count)
        guard isUp else { return }
        for place in digits.indices.reversed() {
            digits[place] = (digits[place] + 1) % 10
            if digits[place] != 0 { return }
        }
        digits = [1] + digits.dropLast()
        point += 1
    }
}
