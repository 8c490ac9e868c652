public import JSON
import Platform

/// Reads the data of HSL events and knows the names that the vendors' libraries use.
package enum HSLFields {
    private static let aliases: [String: [String]] = [
        "weight": ["Weight", "value", "WeightValue"],
        "weightFatValue": ["fat", "FatValue"],
        "waterValue": ["water", "WaterValue"],
        "muscleValue": ["muscle", "MuscaleValue", "MuscleValue"],
        "skeletonValue": ["skeleton", "BoneValue"],
        "VFatLevelValue": ["fatelevel", "VFR", "VisceraFatLevel"],
        "DCIValue": ["DCI"],
        "date": ["measurement_date"],
        "serialNumber": ["serialNub"],
        "serialNub": ["serialNumber"],
        "isAthlete": ["isAthelete", "isSporter"],
        "dataID": ["DataID"],
    ]

    /// The member of this name, or of one of its aliases.
    package static func member(_ name: String, of data: JSONTree) -> JSONTree? {
        if let value = data[name] { return value }
        for alias in aliases[name] ?? [] { if let value = data[alias] { return value } }
        return nil
    }

    /// A decimal number in tenths, and whether it was a whole number of tenths; `nil` if there is none.
    static func tenths(_ name: String, of data: JSONTree) -> (tenths: Int, isExact: Bool)? {
        guard let number = member(name, of: data)?.decimal, number.isFinite, abs(number) < 100_000 else { return nil }
        let tenths = (number * 10).rounded()
        // Single-precision numbers of vendors' libraries are off by a millionth.
        return (Int(tenths), abs(number * 10 - tenths) < 0.01)
    }

    /// The time on the scale's clock; `nil` if the data does not contain it.
    ///
    /// A `date` in UTC without an offset does not contain it, because its wall clock would be a guess.
    static func local(_ data: JSONTree) -> WallTime? {
        if let local = data["local"]?.text { return WallTime(local) }
        if let seconds = data["MDate"]?.whole {
            // Local time, encoded as if it were UTC.
            let (since2000, overflow) = seconds.subtractingReportingOverflow(946_684_800)
            return overflow ? nil : WallTime(secondsSince2000: since2000)
        }
        guard let (wall, zone) = date(data) else { return nil }
        return zone.isEmpty || isOffset(zone) ? wall : nil
    }

    /// The instant of a `date` in UTC, in seconds since 2000; `nil` if there is none.
    static func instant(_ data: JSONTree) -> Int? {
        guard let (wall, zone) = date(data), zone == "Z" || zone == "z" else { return nil }
        return wall.secondsSince2000
    }

    /// The date and time of a `date`, and its zone.
    private static func date(_ data: JSONTree) -> (WallTime, zone: Substring)? {
        guard let text = member("date", of: data)?.text ?? data["MDate"]?.text else { return nil }
        let (moment, rest) = (text.prefix(19), text.dropFirst(19))
        guard let wall = WallTime(moment), moment.utf8.count == 19 else { return nil }
        return (wall, rest.first == "." ? rest.dropFirst().drop { $0.isASCII && $0.isNumber } : rest)
    }

    private static func isOffset(_ text: Substring) -> Bool {
        let bytes = Array(text.utf8)
        return bytes.count == 6 && (bytes[0] == 0x2B || bytes[0] == 0x2D) && bytes[3] == 0x3A
            && [1, 2, 4, 5].allSatisfy { (48...57).contains(bytes[$0]) }
    }

    /// Whether the data contains any time.
    static func hasTime(_ data: JSONTree) -> Bool {
        data["local"] != nil || data["MDate"] != nil || member("date", of: data) != nil
    }

    /// Whether the time is unknown: the scale does not report it, and this machine knows it only for a current weight.
    static func isUndated(_ event: HSLEventName, _ data: JSONTree) -> Bool {
        (event != .stableWeight || hasTime(data)) && local(data) == nil && instant(data) == nil
    }
}

/// A weighing from an HSL event.
struct HSLReading {
    var reading: ScaleReading
    /// Problems with parts of the data; sentences without values.
    var warnings: [String] = []

    enum InvalidReading: Error, Hashable {
        /// No number, or one that cannot be a weight.
        case noWeight
        case overCapacity
    }

    /// Reads the data of a durable event.
    ///
    /// - Parameters:
    ///   - now: the time for a stable weight that comes without one.
    ///   - user: the user of the request that it answers; the data may contain the user, too.
    ///   - rid: an id that only this weighing has; `nil` if there is none.
    ///   - occurrence: the number of identical events without id and date before it in its transfer.
    init(
        _ event: HSLEventName, _ data: JSONTree, of device: HSLDeviceID, now: WallTime, user: UInt32?,
        rid: String? = nil, occurrence: Int = 0
    ) throws(InvalidReading) {
        guard let weight = HSLFields.tenths("weight", of: data), weight.tenths > 0 else { throw .noWeight }
        guard weight.tenths <= device.model.capacity else { throw .overCapacity }
        var warnings: [String] = []
        if !weight.isExact { warnings.append("a weight was finer than the tenth of a kilogram that this scale has") }
        let hasTime = HSLFields.hasTime(data)
        let time = hasTime || event != .stableWeight ? HSLFields.local(data) : now
        let instant = time == nil ? HSLFields.instant(data) : nil
        if hasTime, time == nil, instant == nil { warnings.append("a weighing has no readable date") }
        var composition: HS5Record.Composition?
        if device.model == .hs5, event != .stableWeight {
            composition = Self.composition(data, &warnings)
        }
        let serial = HSLFields.member("serialNumber", of: data)?.whole.flatMap { UInt32(exactly: $0) } ?? user
        let bytes = time.flatMap { device.model.record($0, weight.tenths, composition) }
        let isDatedByHost = !hasTime && event == .stableWeight
        let key: [UInt8]
        if let rid, isDatedByHost || time == nil && instant == nil {
            // A repetition would have another time of this machine, or none: only the id stays the same.
            key = device.key(named: rid)
        } else if let bytes {
            key = bytes.key
        } else {
            // Data that no record of the scale can hold gets a hash as its key.
            let again = occurrence == 0 ? "" : "|\(occurrence)"
            let when = time?.description ?? instant.map { "\($0)Z" } ?? data.json + again
            let name = "\(device)|\(when)|\(weight.tenths)"
            key = Array(Digests.sha256(Array(name.utf8)).prefix(device.model.keySize))
        }
        reading = ScaleReading(
            key: key, time: time, tenthsOfKilogram: weight.tenths, composition: composition,
            user: device.model == .hs5 ? serial : nil, raw: bytes?.bytes ?? data.bytes,
            isDatedByHost: isDatedByHost, instant: instant)
        self.warnings = warnings
    }

    /// An absent value, or 0, was not measured.
    private static func composition(_ data: JSONTree, _ warnings: inout [String]) -> HS5Record.Composition {
        func tenths(_ name: String, _ limit: Int) -> Int {
            guard HSLFields.member(name, of: data) != nil else { return 0 }
            guard let found = HSLFields.tenths(name, of: data), (0...limit).contains(found.tenths) else {
                warnings.append("\(name) is not a number this scale can have; left out")
                return 0
            }
            if !found.isExact { warnings.append("\(name) was finer than a tenth") }
            return found.tenths
        }
        func whole(_ name: String, _ limit: Int) -> Int {
            guard let member = HSLFields.member(name, of: data) else { return 0 }
            guard let number = member.whole, (0...limit).contains(number) else {
                warnings.append("\(name) is not a number this scale can have; left out")
                return 0
            }
            return number
        }
        return HS5Record.Composition(
            fat: tenths("weightFatValue", 1000), water: tenths("waterValue", 1000),
            muscle: tenths("muscleValue", 1000), bone: tenths("skeletonValue", 255),
            visceralFat: whole("VFatLevelValue", 255), dailyCalories: whole("DCIValue", 65535))
    }
}

/// A record of the vendor's cloud; the reader knows the member names that its service and bridges use.
public struct CloudReading: Sendable, Hashable {
    public let reading: ScaleReading
    /// Problems with parts of the data; sentences without values.
    public let warnings: [String]

    /// Returns `nil` if it is not a weighing of this scale: without a weight, beyond its range, or without a readable date.
    ///
    /// - Parameters:
    ///   - deviceId: twelve hex digits.
    ///   - user: the scale's number of the person, on a scale with users.
    public init?(_ data: JSONTree, of model: ScaleModel, deviceId: String, user: UInt32?) {
        guard let device = HSLDeviceID(model, deviceId),
            let found = try? HSLReading(.cloudRecord, data.canonical, of: device, now: .startOf2000, user: user),
            found.reading.time != nil || found.reading.instant != nil
        else { return nil }
        (reading, warnings) = (found.reading, found.warnings)
    }
}

extension HSLDeviceID {
    /// The key of a weighing that is identified only by its id; longer than any record's key.
    func key(named rid: String) -> [UInt8] { Array(Digests.sha256(Array("\(self)|\(rid)".utf8)).prefix(16)) }

    /// The id for acknowledging a durable event that contains none.
    ///
    /// Without a time it is the same for every weighing with this weight, and identifies none of them.
    package func rid(_ event: HSLEventName, _ time: WallTime?, tenths: Int) -> String {
        let name = "\(model.rawValue)|\(deviceId)|\(time?.description ?? "")|\(tenths)|\(event.rawValue)"
        return Array(Digests.sha256(Array(name.utf8)).prefix(16)).hexadecimal
    }
}

extension ScaleModel {
    /// The maximum weight, in tenths of a kilogram.
    public var capacity: Int {
        self == .hs4 ? 1800 : 1500
    }

    /// A weighing in the form of the scale's own record, so that it is the same over a bridge and over the scale's own link.
    ///
    /// `nil` if its bytes cannot express the data.
    package func record(
        _ time: WallTime, _ tenths: Int, _ composition: HS5Record.Composition?
    ) -> (key: [UInt8], bytes: [UInt8])? {
        switch self {
        case .hs3: HS3Record(time, tenthsOfKilogram: tenths).map { ($0.key.bytes, $0.bytes) }
        case .hs4: HS4Record(time, tenthsOfKilogram: tenths, more: 0).map { ($0.key, $0.bytes) }
        case .hs5: HS5Record(time, tenthsOfKilogram: tenths, composition ?? .none).map { ($0.key, $0.bytes) }
        }
    }

    /// The number of bytes that identify a weighing.
    var keySize: Int { self == .hs4 ? 9 : 6 }
}
