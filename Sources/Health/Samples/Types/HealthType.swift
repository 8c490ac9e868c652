/// The form of a type's samples.
public enum SampleKind: String, Hashable, Sendable, CaseIterable, Codable {
    /// A number with a unit.
    case quantity
    /// One value of an enumeration, or an event.
    case category
    /// Several samples that belong together, such as a blood pressure.
    case correlation
    /// An activity with its interval.
    case workout
    /// A fact about a person, not a sample, such as the date of birth.
    case characteristic
    /// Series, documents and everything else without a single value.
    case other

    /// The kind implied by the spelling of a HealthKit identifier, for types that the registry does not know; `nil` for other text.
    public init?(healthKitIdentifier text: String) {
        guard text.hasPrefix("HK") else { return nil }
        if text.hasPrefix("HKQuantityTypeIdentifier") {
            self = .quantity
        } else if text.hasPrefix("HKCategoryTypeIdentifier") {
            self = .category
        } else if text.hasPrefix("HKCorrelationTypeIdentifier") {
            self = .correlation
        } else if text.hasPrefix("HKCharacteristicTypeIdentifier") {
            self = .characteristic
        } else {
            self = text == "HKWorkoutTypeIdentifier" ? .workout : .other
        }
    }
}

/// How several samples of a quantity are combined into one number.
public enum AggregationStyle: String, Hashable, Sendable, CaseIterable, Codable {
    /// Add them.
    case cumulative
    /// Their plain mean.
    case discreteArithmetic
    /// Their mean weighted by how long each value held.
    case discreteTemporallyWeighted
    /// The energy mean of decibels (IEC 61672-1).
    case discreteEquivalentContinuousLevel

    /// Whether values are weighted by the time they held.
    public var isWeighed: Bool { self == .discreteTemporallyWeighted || self == .discreteEquivalentContinuousLevel }
}

/// One value of a category or characteristic type.
public struct CategoryValue: Hashable, Sendable {
    /// HealthKit's raw number; `nil` if it is not known (the menopausal states of iOS 27).
    public let raw: Int?
    /// The name on the bus: `asleepCore`.
    public let name: String
    /// Whether this is an older name of another value with the same number (`asleep` for `asleepUnspecified`): read, never written.
    public let isOldName: Bool
    /// HealthKit's constants for it, as exports spell them; the first is the current one.
    public let healthKitNames: [String]
}

extension CategoryValue {
    /// A value of a declared type.
    public init(raw: Int, name: String) {
        self.init(raw: raw, name: name, isOldName: false, healthKitNames: [])
    }
}

/// An entry of the type registry.
///
/// Immutable and shared: passing it costs one reference count.
public final class HealthType: Sendable {
    /// Whether HealthKit lets an app write the type.
    ///
    /// Only a hint, taken from two open mappings.
    public enum WritePermission: String, Hashable, Sendable {
        /// An app may write it.
        case yes
        /// One mapping says read-only, and the other does not contradict it.
        case no
        /// The two mappings disagree.
        case disputed
    }

    /// The system that defines a built-in type.
    package enum Origin: String, Hashable, Sendable { case healthKit, healthConnect, vendor, hub }

    /// The id on the bus and in the store.
    public let id: TypeID
    /// The form of the type's samples.
    public let kind: SampleKind
    /// The canonical unit, as spelled in messages and in the store; every quantity has one.
    public let unit: String?
    /// `unit`, parsed.
    ///
    /// Its printed form may order the factors differently.
    public let healthUnit: HealthUnit?
    /// The name of the dimension of `unit` (`energy`, `fraction`); `nil` for declared types and types without a unit.
    public let dimension: String?
    /// How samples are combined; set for every quantity and for no other kind.
    public let aggregation: AggregationStyle?
    /// The values of a category or characteristic type, in the order of the table; empty for other kinds.
    public let values: [CategoryValue]
    /// English name for people.
    public let displayName: String
    /// HealthKit's header group, such as `bodyMeasurements`; `nil` if there is none.
    public let group: String?
    /// Names in other systems.
    ///
    /// ``TypeRegistry/resolve(_:)`` finds the type by them.
    public let aliases: Aliases
    /// Units that people usually read this type in; the first is the usual one.
    ///
    /// `ft+in` means two units together.
    public let typicalDisplayUnits: [String]
    /// Whether an app may write the type in HealthKit; `nil` if the tables do not say.
    public let appMayWrite: WritePermission?
    /// For a correlation: the types of its required members, one sample each.
    public let requiredMembers: [TypeID]
    /// `nil` for declared types.
    package let origin: Origin?
    /// The everyday names that the tables list, the usual one first.
    let everydayNames: [String]

    /// Possible and plausible values; `nil` for declared types and for kinds other than quantities.
    public let limits: HealthLimits?

    /// Names of a type in other systems.
    public struct Aliases: Hashable, Sendable {
        /// HealthKit's identifiers; the first is the current one.
        public let healthKit: [String]
        /// Further short names accepted on input: `bodyMass` for `weight`.
        public let names: [String]
        /// Open mHealth schemas with their version: `omh:body-weight:3.0`.
        public let openMHealth: [String]
        /// LOINC codes; the first is the one to write.
        public let loinc: [String]
        /// Health Connect records, with the field if the record has several.
        public let healthConnect: [String]
        /// UCUM spelling of ``HealthType/unit``.
        ///
        /// Not a name of the type, because many types share it.
        public let ucum: String?
        /// The UCUM unit that FHIR requires for the type, which may differ (`cm` for height).
        public let fhirUCUM: String?
    }

    /// The current value with this raw number.
    public func value(raw: Int) -> CategoryValue? { values.first { $0.raw == raw && !$0.isOldName } }

    /// The current value with this name, old name or HealthKit constant.
    public func value(named name: String) -> CategoryValue? {
        guard let found = values.first(where: { $0.name == name || $0.healthKitNames.contains(name) }) else {
            return nil
        }
        guard found.isOldName, let raw = found.raw else { return found }
        return value(raw: raw)
    }

    /// Converts `value` from `unitText` to the type's canonical unit; bit for bit the same if the units are equal.
    ///
    /// If the type measures one substance, such as glucose, its moles need no molar mass: `mmol/L`.
    /// - Returns: `nil` if the type has no unit.
    /// - Throws: ``UnitError``, see ``HealthUnit/convert(_:to:)``.
    public func canonicalValue(_ value: Double, unit unitText: String) throws(UnitError) -> Double? {
        guard let unit, let healthUnit else { return nil }
        // The fast path: most sources send the bus's own spelling.
        if unitText == unit { return try healthUnit.convert(value, to: healthUnit) }
        return try meant(by: unitText).convert(value, to: healthUnit)
    }

    /// Parses the unit `text`; for a type of one substance, adds its molar mass: glucose in `mmol/L` is `mmol<180.15588000005408>/L`.
    package func meant(by text: String) throws(UnitError) -> HealthUnit {
        let unit = try HealthUnit(text)
        guard let own = healthUnit, !unit.isCompatible(with: own), !text.contains("<") else { return unit }
        for spelled in typicalDisplayUnits {
            guard let start = spelled.firstIndex(of: "<"), let end = spelled.firstIndex(of: ">"), start < end,
                let moles = try? HealthUnit(text.replacing("mol", with: "mol\(spelled[start...end])")),
                moles.isCompatible(with: own)
            else { continue }
            return moles
        }
        return unit
    }

    init(
        id: TypeID, kind: SampleKind, unit: String?, healthUnit: HealthUnit?, dimension: String?,
        aggregation: AggregationStyle?, values: [CategoryValue], displayName: String, group: String?, aliases: Aliases,
        typicalDisplayUnits: [String], appMayWrite: WritePermission?, requiredMembers: [TypeID], origin: Origin? = nil,
        everydayNames: [String] = [], limits: HealthLimits? = nil
    ) {
        self.id = id
        self.kind = kind
        self.unit = unit
        self.healthUnit = healthUnit
        self.dimension = dimension
        self.aggregation = aggregation
        self.values = values
        self.displayName = displayName
        self.group = group
        self.aliases = aliases
        self.typicalDisplayUnits = typicalDisplayUnits
        self.appMayWrite = appMayWrite
        self.requiredMembers = requiredMembers
        self.origin = origin
        self.everydayNames = everydayNames
        self.limits = limits
    }
}

extension HealthType {
    /// Declares a type that is not built in, as a plugin's manifest does.
    /// - Parameters:
    ///   - id: `hc.<name>` or `x.<vendor>.<name>`.
    ///   - kind: the form of the type's samples.
    ///   - unit: required for a quantity, not allowed otherwise.
    ///   - aggregation: required for a quantity, not allowed otherwise.
    ///   - values: required for a category, not allowed otherwise; names and raw numbers occur once each.
    ///   - displayName: English name for people; by default the id.
    /// - Throws: ``TypeError``.
    public convenience init(
        declaring id: TypeID, kind: SampleKind, unit: String? = nil, aggregation: AggregationStyle? = nil,
        values: [CategoryValue] = [], displayName: String? = nil
    ) throws(TypeError) {
        guard id.form == .healthConnect || id.form == .vendor else {
            throw TypeError(
                .notDeclarable, id: id.rawValue,
                "only types of the forms hc.<name> and x.<vendor>.<name> can be declared")
        }
        guard (kind == .quantity) == (unit != nil), (kind == .quantity) == (aggregation != nil) else {
            throw TypeError(
                .incomplete, id: id.rawValue,
                kind == .quantity
                    ? "a quantity needs a unit and an aggregation" : "a \(kind) has neither unit nor aggregation")
        }
        guard (kind == .category) == !values.isEmpty else {
            throw TypeError(
                .incomplete, id: id.rawValue,
                kind == .category ? "a category needs its values" : "only a category has values, not a \(kind)")
        }
        guard Set(values.map(\.raw)).count == values.count, Set(values.map(\.name)).count == values.count else {
            throw TypeError(.badValues, id: id.rawValue, "each name and each raw number may occur once")
        }
        var healthUnit: HealthUnit?
        if let unit {
            do throws(UnitError) {
                healthUnit = try HealthUnit(unit)
            } catch {
                throw TypeError(.badUnit, id: id.rawValue, "\(error)")
            }
        }
        self.init(
            id: id, kind: kind, unit: unit, healthUnit: healthUnit, dimension: nil, aggregation: aggregation,
            values: values, displayName: displayName ?? id.rawValue, group: nil,
            aliases: Aliases(
                healthKit: [], names: [], openMHealth: [], loinc: [], healthConnect: [], ucum: nil, fhirUCUM: nil),
            typicalDisplayUnits: unit.map { [$0] } ?? [], appMayWrite: nil, requiredMembers: [])
    }

    /// Whether two entries of one id describe the same samples; names for people may differ.
    package func declaresTheSame(as other: HealthType) -> Bool {
        kind == other.kind && healthUnit == other.healthUnit && aggregation == other.aggregation
            && values.map(\.raw) == other.values.map(\.raw) && values.map(\.name) == other.values.map(\.name)
    }

    /// For messages: `quantity in kg, discreteArithmetic`.
    package var declaration: String {
        let parts = [
            unit.map { "\(kind) in \($0)" } ?? "\(kind)", aggregation.map(\.rawValue),
            values.isEmpty
                ? nil
                : "values " + values.map { "\($0.raw.map(String.init) ?? "?")=\($0.name)" }.joined(separator: ";"),
        ]
        return parts.compactMap { $0 }.joined(separator: ", ")
    }
}

extension HealthType: CustomStringConvertible {
    /// The id.
    public var description: String { id.rawValue }
}
