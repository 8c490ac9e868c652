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
    /// One value of a message.
    struct Field: Hashable, Sendable {
        /// Such as `Double`, `Integer` or `String`.
        let type: String
        /// As JScience prints it; empty where there is none.
        let unit: String
        let isCollection: Bool

        var isNumber: Bool {
            !isCollection && ["double", "float", "integer", "long"].contains(type.lowercased())
        }
    }

    /// By name; a field of a structure is `sleep.state`.
    let fields: [String: Field]

    /// Unit texts by field.
    var units: [String: String] { fields.mapValues(\.unit) }

    /// - Parameter value: `data` of the envelope.
    init(_ value: ServiceValue?) {
        var fields: [String: Field] = [:]
        Self.read(value?["properties"]?["fields"], "", into: &fields)
        self.fields = fields
    }

    private static func read(_ value: ServiceValue?, _ prefix: String, into fields: inout [String: Field]) {
        for (name, field) in value?.object ?? [:] {
            // A leaf is known by a type that is text; a structure holds leaves.
            if let type = field["type"]?.string {
                let isCollection = if case .truth(true)? = field["isCollection"] { true } else { false }
                fields[prefix + name] = Field(
                    type: type, unit: field["unit"]?.string ?? "", isCollection: isCollection)
            } else {
                read(field, prefix + name + ".", into: &fields)
            }
        }
    }
}

/// A normalised message.
struct ServiceMessage: Sendable {
    let device: String
    /// Milliseconds since 1970.
    let time: Int64
    /// When the service received it, by its own clock, in milliseconds since 1970.
    let received: Int64?
    /// The manifest's version, where it is said.
    let manifest: Int64?
    let type: String?
    let data: [String: ServiceValue]

    /// What a time can be, in milliseconds since 1970: years 1 to 9999.
    static let times: ClosedRange<Int64> = -62_135_510_400_000...253_402_214_399_999

    /// Nil for what is no message: those are known by `mid` and `data`.
    init?(_ value: ServiceValue) {
        guard value["mid"] != nil, let data = value["data"]?.object, let device = value["sdid"]?.string,
            let time = value["ts"]?.integer, Self.times.contains(time)
        else { return nil }
        (self.device, self.time, self.data) = (device, time, data)
        (manifest, type) = (value["mv"]?.integer, value["sdtid"]?.string)
        received = value["cts"]?.integer.flatMap { Self.times.contains($0) ? $0 : nil }
    }

    /// Up to where reading has come with it: a message that is dated ahead of its receipt takes nobody further than that.
    func reach(_ now: Int64) -> Int64 { min(time, received ?? now) }
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
