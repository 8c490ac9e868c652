import JSON
import PluginKit

/// The logged-in user, from `GET /users/self`.
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

    /// SAMI writes these in seconds, its successor in milliseconds; only these dates differ (reference §2.1).
    private static func date(_ value: JSONTree?) -> Timestamp? {
        guard let number = value?.lenientInteger, (0..<100_000_000_000_000).contains(number) else { return nil }
        return Timestamp(microseconds: number < 100_000_000_000 ? number * 1_000_000 : number * 1_000)
    }
}

/// One of the user's devices.
struct ServiceDevice: Sendable, Hashable {
    let id: String
    let type: String
    let name: String

    init?(_ value: JSONTree?) {
        guard let id = value?["id"]?.text, let type = value?["dtid"]?.text else { return nil }
        (self.id, self.type, name) = (id, type, value?["name"]?.text ?? id)
    }
}

/// The fields of a device type's messages.
struct ServiceManifest: Sendable {
    /// One field of a message.
    struct Field: Hashable, Sendable {
        /// For example `Double`, `Integer` or `String`.
        let type: String
        /// The unit as JScience prints it; empty if there is none.
        let unit: String
        let isCollection: Bool

        var isNumber: Bool {
            !isCollection && ["double", "float", "integer", "long"].contains(type.lowercased())
        }
    }

    /// By name; a field of a structure has a name like `sleep.state`.
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
            // A leaf has a text as type; a structure contains leaves.
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
    /// In milliseconds since 1970.
    let time: Int64
    /// When the service received it, by its own clock, in milliseconds since 1970.
    let received: Int64?
    /// The manifest's version, if the message has one.
    let manifest: Int64?
    let type: String?
    let data: [String: JSONTree]

    /// Valid times, in milliseconds since 1970: years 1 to 9999.
    static let times: ClosedRange<Int64> = -62_135_510_400_000...253_402_214_399_999

    /// Nil if the value is not a message, which has `mid` and `data`.
    init?(_ value: JSONTree) {
        guard value.member("mid") != nil, let data = value["data"]?.object, let device = value["sdid"]?.text,
            let time = value["ts"]?.lenientInteger, Self.times.contains(time)
        else { return nil }
        (self.device, self.time, self.data) = (device, time, data)
        (manifest, type) = (value["mv"]?.lenientInteger, value["sdtid"]?.text)
        received = value["cts"]?.lenientInteger.flatMap { Self.times.contains($0) ? $0 : nil }
    }

    /// The read position after this message; a message dated after its receipt counts at its receipt.
    func reach(_ now: Int64) -> Int64 { min(time, received ?? now) }
}

/// A page of a range.
struct MessagePage: Sendable {
    let messages: [ServiceMessage]
    /// The cursor of the next page; nil on the last.
    let next: String?

    init(_ value: JSONTree) {
        messages = (value["data"]?.list ?? []).compactMap(ServiceMessage.init)
        next = value["next"]?.text.flatMap { $0.isEmpty ? nil : $0 }
    }
}
