/// A unit name of the grammar, such as `g` or `fl_oz_us`, with its value in SI units.
struct UnitAtom: Sendable {
    let name: String
    let dimension: UnitDimension
    /// SI value = (value + shift) · scale.
    let scale: DoubleDouble
    let shift: DoubleDouble
    let takesPrefix: Bool
    /// Other spellings with the same meaning: `l` for `L`.
    let spellings: [String]

    init(
        _ name: String, _ dimension: UnitDimension, scale: DoubleDouble, shift: DoubleDouble, takesPrefix: Bool,
        spellings: [String]
    ) {
        self.name = name
        self.dimension = dimension
        self.scale = scale
        self.shift = shift
        self.takesPrefix = takesPrefix
        self.spellings = spellings
    }
}

/// A metric prefix; the empty one stands for none.
struct UnitPrefix: Sendable {
    let name: String
    let scale: DoubleDouble

    init(_ name: String, scale: DoubleDouble) {
        self.name = name
        self.scale = scale
    }
}

/// One factor of a unit: a prefixed name and its exponent.
struct UnitTerm: Hashable, Sendable {
    /// Index in `unitPrefixes`.
    let prefix: Int8
    /// Index in `unitAtoms`.
    let atom: Int8
    /// In g/mol, for `mol<M>` only; otherwise zero.
    let molarMass: Double
    var exponent: Int

    /// Whether both are equal except for the exponent.
    func hasSameBase(as other: UnitTerm) -> Bool {
        atom == other.atom && prefix == other.prefix && molarMass == other.molarMass
    }

    var scale: DoubleDouble {
        let base = unitPrefixes[Int(prefix)].scale * unitAtoms[Int(atom)].scale
        return (molarMass == 0 ? base : base * DoubleDouble(molarMass)).raised(to: exponent)
    }

    var dimension: UnitDimension { unitAtoms[Int(atom)].dimension.raised(to: exponent) }

    /// The name without its exponent, as it is printed.
    var name: String {
        let prefix = unitPrefixes[Int(prefix)].name
        guard molarMass != 0 else { return prefix + unitAtoms[Int(atom)].name }
        let digits = molarMass.description
        return prefix + "mol<\(digits.hasSuffix(".0") ? String(digits.dropLast(2)) : digits)>"
    }

    /// The fixed order of factors in print: table position, then the smaller prefix.
    static func isInPrintOrder(_ left: UnitTerm, _ right: UnitTerm) -> Bool {
        (left.atom, left.prefix, left.molarMass) < (right.atom, right.prefix, right.molarMass)
    }
}

/// Table positions by name, computed once.
enum UnitNames {
    static let noPrefix: Int8 = index(of: "", in: unitPrefixes.map(\.name))
    /// The position of `mol<M>`, which carries a molar mass.
    static let molarMass: Int8 = index(of: "mol<M>", in: unitAtoms.map(\.name))

    /// Every plain and every prefixed spelling.
    ///
    /// Complete names take precedence: `min` is a minute, never a milli-inch.
    static let all: [String: (prefix: Int8, atom: Int8)] = {
        var names: [String: (prefix: Int8, atom: Int8)] = [:]
        for (position, atom) in unitAtoms.enumerated() where atom.name != "mol<M>" {
            for name in [atom.name] + atom.spellings { names[name] = (noPrefix, Int8(position)) }
        }
        for (position, atom) in unitAtoms.enumerated() where atom.takesPrefix && atom.name != "mol<M>" {
            for (prefixPosition, prefix) in unitPrefixes.enumerated() {
                for name in [atom.name] + atom.spellings where names[prefix.name + name] == nil {
                    names[prefix.name + name] = (Int8(prefixPosition), Int8(position))
                }
            }
        }
        return names
    }()

    private static func index(of name: String, in names: [String]) -> Int8 {
        guard let position = names.firstIndex(of: name) else {
            preconditionFailure("the generated unit table lacks \(name)")
        }
        return Int8(position)
    }
}
