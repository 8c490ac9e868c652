import PluginKit

/// What `GET /users/self` says of the person who is logged in.
struct ServiceUser: Sendable {
    let id: String
    let fullName: String?
    let email: String?
    let createdOn: Timestamp?
    let modifiedOn: Timestamp?

    /// - Parameter value: `data` of the envelope.
    init?(_ value: ServiceValue?) {
        guard let id = value?["id"]?.string else { return nil }
        self.id = id
        fullName = value?["fullName"]?.string ?? value?["name"]?.string
        email = value?["email"]?.string
        createdOn = Self.date(value?["createdOn"])
        modifiedOn = Self.date(value?["modifiedOn"])
    }

    /// SAMI wrote these in seconds, its successor in milliseconds; only they differ (reference §2.1).
    private static func date(_ value: ServiceValue?) -> Timestamp? {
        guard let number = value?.integer, (0..<100_000_000_000_000).contains(number) else { return nil }
        return Timestamp(microseconds: number < 100_000_000_000 ? number * 1_000_000 : number * 1_000)
    }
}

/// One of the person's devices.
struct ServiceDevice: Sendable, Hashable {
    let id: String
    let type: String
    let name: String

    init?(_ value: ServiceValue?) {
        guard let id = value?["id"]?.string, let type = value?["dtid"]?.string else { return nil }
        (self.id, self.type, name) = (id, type, value?["name"]?.string ?? id)
    }
}

/// What a device type says of its messages.
struct ServiceManifest: Sendable {
    /// Unit texts by field; a field of a structure is `sleep.state`.
    ///
    /// A field without a unit has an empty one.
    let units: [String: String]

    /// - Parameter value: `data` of the envelope.
    init(_ value: ServiceValue?) {
        var units: [String: String] = [:]
        Self.read(value?["properties"]?["fields"], "", into: &units)
        self.units = units
    }

    private static func read(_ value: ServiceValue?, _ prefix: String, into units: inout [String: String]) {
        for (name, field) in value?.object ?? [:] {
            // A leaf is known by a type that is text; a structure holds leaves.
            if field["type"]?.string != nil {
                units[prefix + name] = field["unit"]?.string ?? ""
            } else {
                read(field, prefix + name + ".", into: &units)
            }
        }
    }
}

/// A normalised message.
struct ServiceMessage: Sendable {
    let device: String
    /// Milliseconds since 1970.
    let time: Int64
    /// The manifest's version, where it is said.
    let manifest: Int64?
    let type: String?
    let data: [String: ServiceValue]

    /// Nil for what is no message: those are known by `mid` and `data`.
    init?(_ value: ServiceValue) {
        guard value["mid"] != nil, let data = value["data"]?.object, let device = value["sdid"]?.string,
            let time = value["ts"]?.integer, (-62_135_510_400_000...253_402_214_399_999).contains(time)
        else { return nil }
        (self.device, self.time, self.data) = (device, time, data)
        (manifest, type) = (value["mv"]?.integer, value["sdtid"]?.string)
    }
}

/// A page of a range.
struct MessagePage: Sendable {
    let messages: [ServiceMessage]
    /// The cursor of the next one; nil on the last.
    let next: String?

    init(_ value: ServiceValue) {
        messages = (value["data"]?.list ?? []).compactMap(ServiceMessage.init)
        next = value["next"]?.string.flatMap { $0.isEmpty ? nil : $0 }
    }
}
