import JSON
import Samples

/// The properties of a type in the export, created once for each spelling.
final class TypeEntry {
    let id: TypeID
    /// The id, or the export's own name if that cannot be an id.
    let name: String
    /// `nil` if the registry does not have the type.
    let health: HealthType?
    let kind: SampleKind
    /// Such as `{"type":"heartRate"`.
    let head: [UInt8]
    /// Its index among the account's types.
    let index: Int
    let isWanted: Bool
    /// Whether its records may occur within a correlation or a workout as well as at the top level.
    let isMember: Bool
    /// Whether the food is part of a record's identity, because one meal can contain the same amount of the same nutrient twice.
    let isEaten: Bool
    /// The metadata keys without which the hub rejects a sample of the type.
    let required: [String]
    /// In the type's canonical unit; `nil` if every number is possible.
    let possible: ClosedRange<Double>?
    // Used only by the one task that uses its ``ExportReader``.
    @exclusivity(unchecked) var units = ByteCache<UnitEntry>(bound: 32, longest: 256)
    @exclusivity(unchecked) var values = ByteCache<ValueEntry>(bound: 32, longest: 256)

    init(
        _ id: TypeID, health: HealthType?, kind: SampleKind, index: Int, isWanted: Bool, name: String? = nil
    ) {
        (self.id, self.health, self.kind, self.index, self.isWanted) = (id, health, kind, index, isWanted)
        self.name = name ?? id.rawValue
        var head: [UInt8] = []
        head.append(#"{"type":"#, quoted: id.rawValue)
        self.head = head
        isEaten = id.rawValue.hasPrefix("dietary")
        isMember =
            isEaten || id == .bloodPressureSystolic || id == .bloodPressureDiastolic || id == .workoutEffortScore
            || id == .estimatedWorkoutEffortScore
        possible = health?.limits?.possible
        required = MetadataKey.required(on: id).map(\.name)
    }

    func unit(_ bytes: UnsafeRawBufferPointer) -> UnitEntry {
        units.value(of: bytes) { UnitEntry(XMLText.decoded($0).text, of: health) }
    }

    /// A category value, by HealthKit's constant, its name or its number.
    func value(_ bytes: UnsafeRawBufferPointer) -> ValueEntry {
        values.value(of: bytes) { ValueEntry(XMLText.decoded($0).text, of: health) }
    }
}

/// A unit of a type.
final class UnitEntry {
    let text: String
    /// Such as `,"unit":"kg"`.
    let json: [UInt8]
    private let unit: HealthUnit?
    private let target: HealthUnit?
    private let isOwn: Bool
    /// The original spelling, if it differs from the hub's.
    let written: String?
    /// Whether the unit suits the type; any readable unit suits an unknown type.
    let isFit: Bool

    init(_ text: String, of health: HealthType?) {
        let usual = UnitEntry.unit(text, of: health) == nil ? UnitWords.spelling(of: text) : nil
        let spelled = usual.flatMap { UnitEntry.unit($0, of: health) == nil ? nil : $0 }
        self.text = spelled ?? text
        written = spelled == nil ? nil : text
        var json: [UInt8] = []
        json.append(#","unit":"#, quoted: self.text)
        self.json = json
        let unit = UnitEntry.unit(self.text, of: health)
        let target = health?.healthUnit
        (self.unit, self.target) = (unit, target)
        isOwn = health?.unit == self.text
        // The maximum length of a record's unit.
        isFit = (1...256).contains(self.text.utf8.count) && unit != nil
    }

    /// The unit with this name, if it suits the type.
    private static func unit(_ text: String, of health: HealthType?) -> HealthUnit? {
        guard let health else { return try? HealthUnit(text) }
        guard let own = health.healthUnit, let unit = try? health.meant(by: text), unit.isCompatible(with: own) else {
            return nil
        }
        return unit
    }

    /// The value in the type's canonical unit, if it has one.
    @inline(__always)
    func canonical(_ value: Double) -> Double {
        guard !isOwn, let unit, let target else { return value }
        return (try? unit.convert(value, to: target)) ?? value
    }
}

/// A value of a category.
final class ValueEntry {
    /// The hub's name; `nil` if the type has no such value.
    let name: String?
    let json: [UInt8]

    init(_ text: String, of health: HealthType?) {
        let found = health?.value(named: text) ?? Int(text).flatMap { health?.value(raw: $0) }
        name = found?.name
        json = found.map { ValueEntry.json($0.name) } ?? []
    }

    init(only value: CategoryValue) {
        name = value.name
        json = ValueEntry.json(value.name)
    }

    private static func json(_ name: String) -> [UInt8] {
        var json: [UInt8] = []
        json.append(#","value":"#, quoted: name)
        return json
    }
}

/// A source by its name.
final class SourceEntry {
    let name: String
    /// The name used in record identities, with plain spaces.
    let identity: [UInt8]
    /// `,"source":{"device":"…","account":"…"}`, or empty if there is neither.
    ///
    /// It follows the `subject` if the options name a person.
    let json: [UInt8]
    /// `"sourceName":"…"`, if the export spells it differently.
    let metadata: [UInt8]
    let oddities: XMLText.Oddities
    let index: Int
    let isWanted: Bool

    init(_ bytes: UnsafeRawBufferPointer?, _ options: ExportOptions, index: (String) -> Int) {
        let (text, oddities) = bytes.map { XMLText.decoded($0) } ?? ("", [])
        var name = SourceName.normalized(text)
        // The maximum length of a device name in the hub.
        while name.utf8.count > 256 { name.removeLast() }
        self.oddities = oddities
        self.name = name
        identity = Array(name.utf8)
        var json: [UInt8] = []
        for (member, text) in [("device", name.isEmpty ? nil : name), ("account", options.account)] {
            guard let text else { continue }
            json.begin(member)
            json.append(quoted: text)
        }
        if !json.isEmpty { json = Array(#","source":{"#.utf8) + json + [0x7D] }
        var subject: [UInt8] = []
        if let person = options.person {
            subject = Array(#","subject":{"name":"#.utf8)
            subject.append(quoted: person)
            subject.append(0x7D)
        }
        self.json = subject + json
        var metadata: [UInt8] = []
        if name != text, !text.isEmpty {
            metadata.append(#""sourceName":"#, quoted: text)
        }
        self.metadata = metadata
        self.index = index(name)
        isWanted = options.filter.takes(source: name)
    }
}

/// Members of metadata that many records share, for a device or a version.
final class MetadataEntry {
    let json: [UInt8]
    let oddities: XMLText.Oddities

    /// Such as `"sourceRevision":{"version":"9.4"}`.
    init(version bytes: UnsafeRawBufferPointer) {
        let (text, oddities) = XMLText.decoded(bytes)
        var json: [UInt8] = []
        json.append(#""sourceRevision":{"version":"#, quoted: text)
        json.append(0x7D)
        (self.json, self.oddities) = (json, oddities)
    }

    /// Such as `"device":{"name":"Apple Watch",…}`.
    init(device bytes: UnsafeRawBufferPointer, times: inout ExportTimeReader, utc: inout UTCWriter) {
        let (text, oddities) = XMLText.decoded(bytes)
        self.oddities = oddities
        var json = Array(#""device":{"#.utf8)
        for field in AppleDeviceText.fields(text) ?? [("name", text)] {
            json.begin(field.name)
            var value = field.value
            if field.name == "creationDate",
                let seconds = Array(value.utf8).withUnsafeBytes({ times.seconds($0) })
            {
                value = utc.text(seconds)
            }
            json.append(quoted: value)
        }
        json.append(0x7D)
        self.json = json
    }
}
