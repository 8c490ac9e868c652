/// The dimension of a unit, as exponents of independent base dimensions: energy is mass · length² · time⁻².
///
/// Units convert into each other if their dimensions are equal. Counts, fractions and the null unit have no dimension.
public struct UnitDimension: Hashable, Sendable, CustomStringConvertible {
    /// The base dimensions.
    ///
    /// Every other dimension is a product of these.
    public enum Base: Int, CaseIterable, Sendable {
        /// Kilograms.
        case mass
        /// Metres.
        case length
        /// Seconds.
        case time
        /// Kelvins.
        case temperature
        /// Radians.
        case angle
        /// Lux.
        case illuminance
        /// Siemens.
        case conductance
        /// Volts.
        case electricPotential
        /// Moles.
        case amount
        /// The effect of a substance in IU, which correspond to a different mass for each substance.
        case internationalUnit
        /// Decibels of sound pressure.
        case soundPressureLevel
        /// Decibels of hearing level.
        case hearingSensitivity
        /// Dioptres of a lens.
        case diopter
        /// Prism dioptres.
        case prismDiopter
        /// Effort scores entered by a person or estimated by a device.
        case effortScore
    }

    // 32 factors of at most ±15 with at most a third power each stay within ±1440.
    private var exponents: SIMD16<Int16> = .zero

    /// The dimension of counts, fractions and the null unit.
    public static let none = UnitDimension()

    init(_ powers: (Base, Int16)...) {
        for (base, exponent) in powers { exponents[base.rawValue] = exponent }
    }

    /// The exponent of `base`, or zero if it does not occur.
    public subscript(base: Base) -> Int { Int(exponents[base.rawValue]) }

    func raised(to exponent: Int) -> UnitDimension {
        var result = self
        result.exponents = exponents &* SIMD16(repeating: Int16(exponent))
        return result
    }

    static func * (left: UnitDimension, right: UnitDimension) -> UnitDimension {
        var result = left
        result.exponents = left.exponents &+ right.exponents
        return result
    }

    /// For messages: `mass·length^2·time^-2`, or `no dimension`.
    public var description: String {
        let parts = Base.allCases.filter { self[$0] != 0 }.map { self[$0] == 1 ? "\($0)" : "\($0)^\(self[$0])" }
        return parts.isEmpty ? "no dimension" : parts.joined(separator: "·")
    }
}
