/// A unit of measure in HealthKit's spelling: `kg`, `count/min`, `mL/kg·min`, `mmol<180.15588000005408>/L`.
///
/// The grammar, as HealthKit has it:
///
///     unit    := "" | "()" | product [ "/" product ]      one slash; all after it is the denominator
///     product := factor { ("·" | "*" | ".") factor }
///     factor  := atom [ "^" int ] | "1" | "(" product ")" [ "^" int ]
///     atom    := [prefix] name | [prefix] "mol<" decimal ">"
///
/// Case counts and spaces are not allowed. `%` is a fraction: 25 % is the value 0.25.
/// Two units are equal if they have the same factors with the same exponents in any order: `m/s^2` equals `m·s^-2`.
/// `km` does not equal `m`, although values convert between them.
///
/// A unit is one pointer: copying costs a reference count, and comparing the same object is free. Safe on every thread.
public struct HealthUnit: Sendable {
    /// Maximum length of a unit string in bytes, as read and as printed.
    public static let maximumLength = 64
    /// Maximum nesting of parentheses.
    public static let maximumDepth = 8
    /// Largest exponent of a factor, in either direction, also inside parentheses.
    public static let maximumExponent = 15

    private final class Storage: Sendable {
        let terms: [UnitTerm]
        let description: String
        let dimension: UnitDimension
        let scale: DoubleDouble
        let shift: DoubleDouble

        init(terms: [UnitTerm], description: String, scale: DoubleDouble) {
            self.terms = terms
            self.description = description
            self.scale = scale
            dimension = terms.reduce(UnitDimension.none) { $0 * $1.dimension }
            // An offset counts only for a temperature on its own. In a product a degree is an interval.
            let isAlone = terms.count == 1 && terms[0].exponent == 1
            shift = isAlone ? unitAtoms[Int(terms[0].atom)].shift : DoubleDouble(0)
        }
    }

    private let storage: Storage

    /// The unit without factors, `()`.
    public static let null = HealthUnit(storage: Storage(terms: [], description: "()", scale: .one))

    private init(storage: Storage) { self.storage = storage }

    /// Reads a unit string.
    ///
    /// Strings that occur in the type registry are looked up, others parsed.
    /// - Throws: ``UnitError`` with code `syntax`, `unknownUnit`, `tooLong`, `tooDeep`, `exponentOutOfRange` or
    ///   `scaleOutOfRange`.
    public init(_ text: String) throws(UnitError) {
        // Checked first, so that a long text is neither hashed nor copied.
        guard text.utf8.count <= HealthUnit.maximumLength else { throw UnitParser.tooLong(text.utf8) }
        if let known = HealthUnit.common[text] {
            self = known
        } else {
            try self.init(utf8: Array(text.utf8))
        }
    }

    /// Reads a unit string from any bytes; bytes that are not UTF-8 are a syntax error.
    /// - Throws: as ``init(_:)``.
    public init(utf8 bytes: [UInt8]) throws(UnitError) {
        var parser = try UnitParser(bytes)
        let terms = try parser.parse().sorted(by: UnitTerm.isInPrintOrder)
        let description = HealthUnit.print(terms)
        guard description.utf8.count <= HealthUnit.maximumLength else {
            throw UnitError(
                .tooLong, in: String(decoding: bytes, as: UTF8.self),
                "written out, the unit has more than \(HealthUnit.maximumLength) bytes; use fewer factors")
        }
        let scale = terms.reduce(DoubleDouble.one) { $0 * $1.scale }
        // Stay well inside the range of a double, so that the ratio of two units also stays inside it.
        guard (1e-100...1e100).contains(scale.high) else {
            throw UnitError(
                .scaleOutOfRange, in: String(decoding: bytes, as: UTF8.self),
                "the unit is worth more than 1e100 or less than 1e-100 SI units; use smaller exponents or prefixes")
        }
        storage = Storage(terms: terms, description: description, scale: scale)
    }

    /// The dimension that the unit measures.
    public var dimension: UnitDimension { storage.dimension }

    /// Whether the unit has no factors left: `()`, `m/m`, `m^0`.
    ///
    /// `count/%` is not null.
    public var isNull: Bool { storage.terms.isEmpty }

    /// Whether values in this unit convert to `other`: both have the same dimension.
    public func isCompatible(with other: HealthUnit) -> Bool { dimension == other.dimension }

    // MARK: Conversion

    /// Converts `value` from this unit to `target`.
    ///
    /// Between equal units the value is returned bit for bit. Otherwise the result is calculated with about 30 digits
    /// from the exact double and rounded once. Offsets of temperatures count if `degC` or `degF` is the whole unit.
    /// - Throws: ``UnitError`` with code `incompatible` if the units measure different dimensions, and `valueOutOfRange` if the value is not
    ///   finite, if the value or the result is beyond about 1e300, or if the result is too small for a double's full precision.
    public func convert(_ value: Double, to target: HealthUnit) throws(UnitError) -> Double {
        guard value.isFinite else {
            throw UnitError(.valueOutOfRange, in: description, "the value is not a finite number; send a number")
        }
        if self == target { return value }
        guard dimension == target.dimension else {
            throw UnitError(
                .incompatible, in: description,
                "it measures \(dimension) and does not convert to \"\(target)\", which measures "
                    + "\(target.dimension); send a unit of the same dimension as \"\(target)\"")
        }
        let ratio = storage.scale / target.storage.scale
        // Units with equal shifts are the same unit, which was handled above.
        let hasOffset = storage.shift.high != target.storage.shift.high
        // Zero stays zero and keeps its sign.
        if !hasOffset && value == 0 { return value }
        let result =
            hasOffset
            ? ((DoubleDouble(value) + storage.shift) * ratio - target.storage.shift).rounded
            : (DoubleDouble(value) * ratio).rounded
        guard result.isFinite, hasOffset || result.magnitude >= Double.leastNormalMagnitude else {
            throw UnitError(
                .valueOutOfRange, in: description,
                "the value does not fit a double when converted to \"\(target)\"; send it in a nearer unit")
        }
        return result
    }

    // MARK: Printing and look-up

    private static func print(_ terms: [UnitTerm]) -> String {
        func product(_ terms: [UnitTerm], sign: Int) -> String {
            let parts = terms.map { $0.exponent == sign ? $0.name : "\($0.name)^\(sign * $0.exponent)" }
            return parts.joined(separator: "·")
        }
        guard !terms.isEmpty else { return "()" }
        let numerator = product(terms.filter { $0.exponent > 0 }, sign: 1)
        let denominator = product(terms.filter { $0.exponent < 0 }, sign: -1)
        return denominator.isEmpty ? numerator : (numerator.isEmpty ? "1" : numerator) + "/" + denominator
    }

    /// The registry's unit strings, parsed once per process.
    private static let common: [String: HealthUnit] = {
        var units: [String: HealthUnit] = [:]
        for line in TableReader.lines(of: commonUnitTable) {
            do throws(UnitError) {
                units[line[0]] = try HealthUnit(utf8: Array(line[0].utf8))
            } catch {
                preconditionFailure("the generated table of units is wrong: \(error)")
            }
        }
        return units
    }()
}

extension HealthUnit: Hashable, CustomStringConvertible {
    /// Units are equal if their factors and exponents are equal.
    public static func == (left: HealthUnit, right: HealthUnit) -> Bool {
        left.storage === right.storage || left.storage.terms == right.storage.terms
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(storage.terms) }

    /// The canonical spelling: a fixed order of factors, HealthKit's if known (`mL/min·kg`, `1/s^2`, `()`).
    ///
    /// Reading it gives the same unit again.
    public var description: String { storage.description }
}
