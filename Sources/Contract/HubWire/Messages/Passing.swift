public import Samples

/// LIVE: a passing value, published at once and never stored (Protocol §5.2).
public struct LiveValue: Hashable, Sendable {
    /// Id of the type; resolved by the hub.
    public var type: String
    /// Finite; absent if there is only progress.
    public var value: Double?
    public var unit: String?
    /// The progress of a measurement, from 0 to 1.
    public var progress: Double?
    public var device: String?
    /// The person that the source believes to be measured.
    public var subject: Subject?
    /// The whole object as it was received; the feed passes it on.
    ///
    /// For a value made here, it is written from the members.
    public private(set) var body: RawJSON

    /// - Throws: `field` if a number is not finite or `progress` is not within 0…1.
    public init(
        type: String, value: Double? = nil, unit: String? = nil, progress: Double? = nil, device: String? = nil,
        subject: Subject? = nil
    ) throws(WireError) {
        guard value?.isFinite ?? true else { throw WireError(.field, "LIVE.value: expected a finite number") }
        guard progress.map({ (0...1).contains($0) }) ?? true else {
            throw WireError(.field, "LIVE.progress: expected a number from 0 to 1")
        }
        (self.type, self.value, self.unit, self.progress) = (type, value, unit, progress)
        (self.device, self.subject, self.body) = (device, subject, .emptyObject)
        var writer = ObjectWriter()
        writer.member("type", text: type)
        writer.member("value", number: value)
        writer.member("unit", text: unit)
        writer.member("progress", number: progress)
        writer.member("device", text: device)
        writer.member("subject", object: subject.map(SubjectObject.init))
        body = RawJSON(trusted: writer.finished())
    }
}

extension LiveValue {
    static func decoded(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> LiveValue {
        let object = try ObjectReader(bytes, path: Verb.live.rawValue)
        let subject: SubjectObject? = try object.objectIfPresent("subject")
        var live = try LiveValue(
            type: object.text("type"), value: object.numberIfPresent("value"), unit: object.textIfPresent("unit"),
            progress: object.numberIfPresent("progress", in: 0...1, show: .text),
            device: object.textIfPresent("device"),
            subject: subject?.subject)
        live.body = RawJSON(trusted: Array(bytes))
        return live
    }
}

/// One of `{"account":…}`, `{"slot":…}`, `{"name":…}` (Protocol §6.1).
private struct SubjectObject: BodyCoding {
    let subject: Subject

    init(_ subject: Subject) { self.subject = subject }

    init(reading object: ObjectReader) throws(WireError) {
        if let account = try object.textIfPresent("account") {
            subject = .account(account)
        } else if let slot = try object.integerIfPresent("slot") {
            subject = .slot(Int(slot))
        } else {
            subject = .name(try object.text("name", "a string, unless there is an account or a slot"))
        }
    }

    func write(to body: inout ObjectWriter) {
        switch subject {
        case .account(let account): body.member("account", text: account)
        case .slot(let slot): body.member("slot", integer: Int64(slot))
        case .name(let name): body.member("name", text: name)
        }
    }
}

/// EVENT: an event of a plugin or its device (Protocol §5.2).
public struct DeviceEvent: Hashable, Sendable {
    public enum Severity: String, Hashable, Sendable, Codable, CaseIterable { case info, warning, error }

    /// `[a-z][A-Za-z0-9-]{0,63}`, a segment of the topic.
    public var event: String
    public var device: String?
    public var severity: Severity
    /// The device's own number of the event.
    public var code: Int64?
    /// A sentence for people.
    public var text: String?
    /// A JSON object for programs.
    public var data: RawJSON?
    /// With the event `error`: whether the last error is over.
    public var isResolved: Bool
    /// The whole object as it was received; the feed passes it on.
    ///
    /// For an event made here, it is written from the members.
    public private(set) var body: RawJSON

    /// - Throws: `field` if `event` has another form, or `data` is not an object.
    public init(
        _ event: String, device: String? = nil, severity: Severity = .info, code: Int64? = nil, text: String? = nil,
        data: RawJSON? = nil, isResolved: Bool = false
    ) throws(WireError) {
        guard Self.isEventName(event) else {
            throw WireError(.field, "EVENT.event: expected \(Self.allowedName)")
        }
        guard data?.isObject ?? true else { throw WireError(.field, "EVENT.data: expected an object") }
        (self.event, self.device, self.severity, self.code) = (event, device, severity, code)
        (self.text, self.data, self.isResolved, self.body) = (text, data, isResolved, .emptyObject)
        var writer = ObjectWriter()
        writer.member("event", text: event)
        writer.member("device", text: device)
        writer.member("severity", text: severity.rawValue)
        writer.member("code", integer: code)
        writer.member("text", text: text)
        writer.member("data", raw: data)
        writer.member("resolved", truth: isResolved ? true : nil)
        body = RawJSON(trusted: writer.finished())
    }

    private static let allowedName = "1 to 64 letters, digits or \"-\", the first a small letter"

    private static func isEventName(_ text: String) -> Bool {
        guard let first = text.utf8.first, (0x61...0x7A).contains(first), text.utf8.count <= 64 else { return false }
        return text.utf8.allSatisfy { PeerName.isAlphanumeric($0) || $0 == UInt8(ascii: "-") }
    }
}

extension DeviceEvent {
    static func decoded(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> DeviceEvent {
        let object = try ObjectReader(bytes, path: Verb.event.rawValue)
        var event = try DeviceEvent(
            object.name("event", allowedName, where: isEventName), device: object.textIfPresent("device"),
            severity: object.wordIfPresent("severity", as: Severity.self) ?? .info,
            code: object.integerIfPresent("code", in: .min + 1 ... .max), text: object.textIfPresent("text"),
            data: object.rawObjectIfPresent("data"), isResolved: object.truthIfPresent("resolved") ?? false)
        event.body = RawJSON(trusted: Array(bytes))
        return event
    }

    /// The event with other words.
    ///
    /// `change` gets the JSON value of each member that its sender writes freely, and returns one of the same kind.
    public func rewritten(_ change: (RawJSON) -> RawJSON) -> DeviceEvent {
        body.bytes.withUnsafeBytes { bytes in
            guard let object = try? ObjectReader(bytes, path: Verb.event.rawValue) else { return self }
            var writer = ObjectWriter()
            for member in object.members {
                let value = object.raw(member.value)
                let isFixed = ["event", "device", "severity", "code", "resolved"].contains(member.name)
                writer.member(member.name, raw: isFixed ? value : change(value))
            }
            return writer.finished().withUnsafeBytes { (try? Self.decoded($0)) ?? self }
        }
    }
}
