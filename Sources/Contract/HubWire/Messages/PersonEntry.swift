public import Samples

extension Welcome {
    /// A person as a plugin sees one.
    public struct PersonEntry: NamedPerson, Hashable, Sendable {
        public var name: String
        /// The name to show instead, with any letters; nil: ``name``.
        public var displayName: String?
        /// IANA name of the person's zone.
        public var zone: String?
        /// The locale for the person's numbers and dates, such as `de_DE`.
        public var locale: String?
        /// The unit in which the person reads a type, in HealthKit's spelling, if it differs from the usual one.
        public var units: [String: String]
        /// The order of sources in statistics: for each type, the first entry that includes it counts.
        public var priority: [SourceOrder]
        /// The attributes of the body that a device needs; only if the plugin's manifest asks for them.
        public var profile: PersonProfile?

        public init(
            name: String, displayName: String? = nil, zone: String? = nil, locale: String? = nil,
            units: [String: String] = [:], priority: [SourceOrder] = [], profile: PersonProfile? = nil
        ) {
            (self.name, self.displayName) = (name, displayName)
            (self.zone, self.locale, self.units) = (zone, locale, units)
            (self.priority, self.profile) = (priority, profile)
        }
    }

    /// A table `[priority.NAME]` of `hub.conf`, limited to one person and to the types that the reader may read.
    public struct SourceOrder: Hashable, Sendable {
        /// Ids of types; nil: all.
        public var types: [String]?
        /// Kinds of plugins, or `kind/device`, the best first.
        public var sources: [String]

        public init(types: [String]? = nil, sources: [String]) { (self.types, self.sources) = (types, sources) }
    }
}

/// The attributes of a person's body in `hub.conf`, for a plugin whose device keeps users of its own (Protocol §4.2).
///
/// An attribute that is not written there is nil: the hub guesses nothing about a body.
public struct PersonProfile: Hashable, Sendable {
    /// The sexes that scales know.
    public enum Sex: String, Sendable, Hashable, CaseIterable {
        case female, male, other
    }

    /// A unit of weight; the raw value is its spelling in `hub.conf`.
    public enum Unit: String, Sendable, Hashable, CaseIterable {
        case kilograms = "kg"
        case pounds = "lb"
        case stones = "st"
    }

    /// Permanent, even if the person is renamed.
    public var uid: String
    /// The unit in which weights are shown to this person: a short form of ``units`` for body masses.
    public var unit: Unit?
    /// The person's position on the device of this instance.
    public var slot: Int?
    /// Centimetres.
    public var height: Double?
    public var sex: Sex?
    public var birthDate: LocalDate?
    /// Whether the device should use its formulas for athletes.
    public var athlete: Bool?

    public init(
        uid: String, unit: Unit? = nil, slot: Int? = nil, height: Double? = nil,
        sex: Sex? = nil, birthDate: LocalDate? = nil, athlete: Bool? = nil
    ) {
        (self.uid, self.unit, self.slot, self.height) = (uid, unit, slot, height)
        (self.sex, self.birthDate, self.athlete) = (sex, birthDate, athlete)
    }
}

extension Welcome {
    /// The member `persons` of a file with a JSON object, which has the form of WELCOME; `nil` if there is none.
    package static func persons(in file: [UInt8], named name: String) throws -> [PersonEntry]? {
        try file.withUnsafeBytes { try ObjectReader($0, path: name).objectsIfPresent("persons") }
    }
}

extension Welcome.PersonEntry: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        self.init(
            name: try object.text("name"), displayName: try object.textIfPresent("displayName"),
            zone: try object.textIfPresent("zone"), locale: try object.textIfPresent("locale"),
            units: try (object.objectIfPresent("units") as UnitsByType?)?.units ?? [:],
            priority: try object.objectsIfPresent("priority") ?? [], profile: try object.objectIfPresent("profile"))
    }

    func write(to body: inout ObjectWriter) {
        body.member("name", text: name)
        body.member("displayName", text: displayName)
        body.member("zone", text: zone)
        body.member("locale", text: locale)
        body.member("units", object: units.isEmpty ? nil : UnitsByType(units: units))
        body.member("priority", objects: priority.isEmpty ? nil : priority)
        body.member("profile", object: profile)
    }
}

extension Welcome.SourceOrder: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        self.init(types: try object.textsIfPresent("types"), sources: try object.texts("sources"))
    }

    func write(to body: inout ObjectWriter) {
        body.member("types", texts: types)
        body.member("sources", texts: sources)
    }
}

/// `{"weight":"st","height":"ft"}`.
private struct UnitsByType: BodyCoding {
    let units: [String: String]

    init(units: [String: String]) { self.units = units }

    init(reading object: ObjectReader) throws(WireError) {
        var units: [String: String] = [:]
        for name in object.names { units[name] = try object.text(name) }
        self.units = units
    }

    func write(to body: inout ObjectWriter) {
        for (type, unit) in units.sorted(by: { $0.key < $1.key }) { body.member(type, text: unit) }
    }
}

extension PersonProfile: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        self.init(
            uid: try object.text("uid"), unit: try object.wordIfPresent("unit", as: Unit.self),
            slot: try object.integerIfPresent("slot", in: 0...255).map { Int($0) },
            height: try object.numberIfPresent("height", in: 1...400),
            sex: try object.wordIfPresent("sex", as: Sex.self),
            birthDate: try object.optional("birthDate", "a date such as 1984-05-06") { value throws(WireError) in
                object.string(value).flatMap { LocalDate($0) }
            },
            athlete: try object.truthIfPresent("athlete"))
    }

    func write(to body: inout ObjectWriter) {
        body.member("uid", text: uid)
        body.member("unit", text: unit?.rawValue)
        body.member("slot", integer: slot.map { Int64($0) })
        body.member("height", number: height)
        body.member("sex", text: sex?.rawValue)
        body.member("birthDate", text: birthDate?.text)
        body.member("athlete", truth: athlete)
    }
}
