/// Reads one unit string by the grammar of `HealthUnit`.
///
/// A parser value is used once.
struct UnitParser {
    private let text: String
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) throws(UnitError) {
        guard bytes.count <= HealthUnit.maximumLength else { throw UnitParser.tooLong(bytes) }
        self.bytes = bytes
        text = String(decoding: bytes, as: UTF8.self)
    }

    /// The factors of the unit in the order of their first appearance, none with exponent zero.
    mutating func parse() throws(UnitError) -> [UnitTerm] {
        if try isNullUnit() { return [] }
        var terms = try product(depth: 0)
        if next == UInt8(ascii: "/") {
            position += 1
            try multiply(&terms, by: try product(depth: 0), exponent: -1)
        }
        guard position == bytes.count else { throw unexpected("expected ·, *, ., / or the end of the unit") }
        return terms
    }

    // MARK: Grammar

    /// Whether the text is `""`, `()` or `(())`: parentheses around nothing.
    private func isNullUnit() throws(UnitError) -> Bool {
        let depth = bytes.count / 2
        guard bytes.count.isMultiple(of: 2), bytes.prefix(depth).allSatisfy({ $0 == UInt8(ascii: "(") }),
            bytes.suffix(depth).allSatisfy({ $0 == UInt8(ascii: ")") })
        else { return false }
        guard depth <= HealthUnit.maximumDepth else { throw tooDeep(at: HealthUnit.maximumDepth) }
        return true
    }

    private mutating func product(depth: Int) throws(UnitError) -> [UnitTerm] {
        var terms = try factor(depth: depth)
        while skipSeparator() {
            try multiply(&terms, by: try factor(depth: depth), exponent: 1)
        }
        return terms
    }

    private mutating func factor(depth: Int) throws(UnitError) -> [UnitTerm] {
        guard let byte = next else { throw unexpected("expected a unit such as kg") }
        if byte == UInt8(ascii: "1") {
            position += 1
            return []
        }
        if byte == UInt8(ascii: "(") {
            guard depth < HealthUnit.maximumDepth else { throw tooDeep(at: position) }
            position += 1
            if next == UInt8(ascii: ")") { throw unexpected("the null unit () stands alone; leave it out") }
            let inner = try product(depth: depth + 1)
            if next == UInt8(ascii: "/") {
                throw unexpected("no slash inside parentheses; write s^-1 for 1/s")
            }
            guard next == UInt8(ascii: ")") else { throw unexpected("expected )") }
            position += 1
            var terms: [UnitTerm] = []
            try multiply(&terms, by: inner, exponent: try exponent())
            return terms
        }
        let term = try atom()
        var terms: [UnitTerm] = []
        try multiply(&terms, by: [term], exponent: try exponent())
        return terms
    }

    /// `^2` and the like; 1 if there is none.
    private mutating func exponent() throws(UnitError) -> Int {
        guard next == UInt8(ascii: "^") else { return 1 }
        let start = position
        position += 1
        var sign = 1
        if next == UInt8(ascii: "-") {
            sign = -1
            position += 1
        }
        var value = 0
        var digits = 0
        while let byte = next, isDigit(byte) {
            value = value * 10 + Int(byte - UInt8(ascii: "0"))
            guard value <= HealthUnit.maximumExponent else { throw exponentOutOfRange(at: start) }
            digits += 1
            position += 1
        }
        guard digits > 0 else { throw unexpected("expected a whole number after ^") }
        guard next != UInt8(ascii: "^") else { throw unexpected("one exponent only; write (m^2)^2 or m^4") }
        return sign * value
    }

    private mutating func atom() throws(UnitError) -> UnitTerm {
        let start = position
        while let byte = next, isNameByte(byte) { position += 1 }
        guard position > start else { throw unexpected("expected a unit such as kg") }
        let name = String(decoding: bytes[start..<position], as: UTF8.self)
        guard let found = UnitNames.all[name] else {
            throw UnitError(.unknownUnit, in: text, at: start, "unknown unit \(name)" + UnitHints.hint(for: name))
        }
        guard next == UInt8(ascii: "<") else {
            return UnitTerm(prefix: found.prefix, atom: found.atom, molarMass: 0, exponent: 1)
        }
        guard unitAtoms[Int(found.atom)].name == "mol" else {
            throw unexpected("only mol takes a molar mass, as in mmol<180.156>")
        }
        return UnitTerm(prefix: found.prefix, atom: UnitNames.molarMass, molarMass: try molarMass(), exponent: 1)
    }

    /// `<180.156>`, in g/mol.
    private mutating func molarMass() throws(UnitError) -> Double {
        let start = position
        position += 1
        var digits = 0
        var points = 0
        while let byte = next, isDigit(byte) || byte == UInt8(ascii: ".") {
            if byte == UInt8(ascii: ".") { points += 1 } else { digits += 1 }
            position += 1
        }
        guard next == UInt8(ascii: ">") else { throw unexpected("expected a decimal molar mass and >") }
        let spelled = String(decoding: bytes[(start + 1)..<position], as: UTF8.self)
        let isDecimal =
            digits > 0 && points <= 1 && spelled.first != "." && spelled.last != "."
        // No molecule has a mass outside this range, and such a double no longer prints as a plain decimal.
        guard isDecimal, let mass = Double(spelled), (0.01...1e12).contains(mass) else {
            throw UnitError(
                .syntax, in: text, at: start, "a molar mass is a decimal from 0.01 to 1e12 g/mol, as in mol<180.156>")
        }
        position += 1
        return mass
    }

    // MARK: Bytes

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// `·` (two bytes in UTF-8), `*` or `.`.
    private mutating func skipSeparator() -> Bool {
        if next == UInt8(ascii: "*") || next == UInt8(ascii: ".") {
            position += 1
            return true
        }
        guard next == 0xC2, position + 1 < bytes.count, bytes[position + 1] == 0xB7 else { return false }
        position += 2
        return true
    }

    private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        default: byte == UInt8(ascii: "_") || byte == UInt8(ascii: "%")
        }
    }

    /// Multiplies `terms` by `factors` raised to `exponent`; factors that cancel are removed.
    private func multiply(_ terms: inout [UnitTerm], by factors: [UnitTerm], exponent: Int) throws(UnitError) {
        for var factor in factors {
            factor.exponent *= exponent
            if let index = terms.firstIndex(where: { $0.hasSameBase(as: factor) }) {
                terms[index].exponent += factor.exponent
                factor = terms[index]
            } else {
                terms.append(factor)
            }
            guard abs(factor.exponent) <= HealthUnit.maximumExponent else { throw exponentOutOfRange(at: nil) }
        }
        terms.removeAll { $0.exponent == 0 }
    }

    // MARK: Errors

    static func tooLong(_ bytes: some Collection<UInt8>) -> UnitError {
        UnitError(
            .tooLong, in: String(decoding: bytes.prefix(HealthUnit.maximumLength), as: UTF8.self),
            "the unit has \(bytes.count) bytes, at most \(HealthUnit.maximumLength) are allowed; shorten it")
    }

    private func unexpected(_ advice: String) -> UnitError {
        guard position < bytes.count else {
            return UnitError(.syntax, in: text, at: position, "the unit ends too early: \(advice)")
        }
        let rest = String(decoding: bytes[position...], as: UTF8.self)
        let found = rest.first.map(String.init) ?? ""
        return UnitError(
            .syntax, in: text, at: position, "unexpected \"\(found)\": \(UnitHints.hint(at: found) ?? advice)")
    }

    private func tooDeep(at position: Int) -> UnitError {
        UnitError(
            .tooDeep, in: text, at: position,
            "parentheses are nested deeper than \(HealthUnit.maximumDepth); leave out those that are not needed")
    }

    private func exponentOutOfRange(at position: Int?) -> UnitError {
        UnitError(
            .exponentOutOfRange, in: text, at: position,
            "exponents must lie between -\(HealthUnit.maximumExponent) and \(HealthUnit.maximumExponent)")
    }
}
