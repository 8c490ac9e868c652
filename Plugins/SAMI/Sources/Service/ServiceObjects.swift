import JSON
import PluginKit

/// What `GET /users/self` says of the person who is logged in.
struct ServiceUser: Sendable {
    let id: String
    let fullName: String?
    let email: String?
    let createdOn: Timestamp?
    let modifiedOn: Timestamp?

    /// - Parameter value: `data` of the envelope.
    init?(_ value: JSONTree?) {
        guard let id = value?["id"]?.text else { return nil }
        self.id = id
        fullName = value?["fullName"]?.text ?? value?["name"]?.text
        email = value?["email"]?.text
        createdOn = Self.date(value?["createdOn"])
        modifiedOn = Self.date(value?["modifiedOn"])
    }

    /// SAMI wrote these in seconds, its successor in milliseconds; only they differ (reference §2.1).
    private static func date(_ value: JSONTree?) -> Timestamp? {
        guard let number = value?.lenientInteger, (0..<100_000_000_000_000).contains(number) else { return nil }
        return Timestamp(microseconds: number < 100_000_000_000 ? number * 1_000_000 : number * 1_000)
    }
}

/// One of the person's devices.
struct ServiceDevice: Sendable, Hashable {
    let id: String
    let type: String
    let name: String

    init?(_ value: JSONTree?) {
        guard let id = value?["id"]?.text, let type = value?["dtid"]?.text else { return nil }
        (self.id, self.type, name) = (id, type, value?["name"]?.text ?? id)
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
    init(_ value: JSONTree?) {
        var fields: [String: Field] = [:]
        Self.read(value?["properties"]?["fields"], "", into: &fields)
        self.fields = fields
    }

    private static func read(_ value: JSONTree?, _ prefix: String, into fields: inout [String: Field]) {
        for (name, field) in value?.object ?? [:] {
            // A leaf is known by a type that is text; a structure holds leaves.
            if let type = field["type"]?.text {
                let isCollection = if case .truth(true)? = field["isCollection"] { true } else { false }
                fields[prefix + name] = Field(
                    type: type, unit: field["unit"]?.text ?? "", isCollection: isCollection)
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
    let data: [String: JSONTree]

    /// What a time can be, in milliseconds since 1970: years 1 to 9999.
    static let times: ClosedRange<Int64> = -62_135_510_400_000...253_402_214_399_999

    /// Nil for what is not a message: those are known by `mid` and `data`.
    init?(_ value: JSONTree) {
        guard value.member("mid") != nil, let data = value["data"]?.object, let device = value["sdid"]?.text,
            let time = value["ts"]?.lenientInteger, Self.times.contains(time)
        else { return nil }
        (self.device, self.time, self.data) = (device, time, data)
        (manifest, type) = (value["mv"]?.lenientInteger, value["sdtid"]?.text)
        received = value["cts"]?.lenientInteger.flatMap { Self.times.contains($0) ? $0 : nil }
    }

    /// Up to where reading has come with it: a message that is dated ahead of its receipt counts as of its receipt.
    func reach(_ now: Int64) -> Int64 { min(time, received ?? now) }
}

/// A page of a range.
struct MessagePage: Sendable {
    let messages: [ServiceMessage]
    /// The cursor of the next one; nil on the last.
    let next: String?

    init(_ value: JSONTree) {
        messages = (value["data"]?.list ?? []).compactMap(ServiceMessage.init)
        next = value["next"]?.text.flatMap { $0.isEmpty ? nil : $0 }
    }
}
