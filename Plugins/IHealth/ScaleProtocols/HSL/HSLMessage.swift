public import JSON

/// A line of HSL/1.
public enum HSLMessage: Sendable, Hashable {
    case hello(HSLHello)
    /// The HMAC over both nonces under the token, in hex.
    case auth(proof: String)
    /// The session begins; `resumeFrom` contains the last acknowledged record of each scale.
    case welcome(session: String, resumeFrom: [HSLDeviceID: String])
    case request(HSLRequest)
    case event(HSLEvent)
    case result(HSLResult)
    case acknowledge(HSLDeviceID, rid: String)
    case cancel(ref: Int)
    case ping(Int)
    case pong(Int)
    case error(HSLMessageError)
    case bye(reason: String)
}

/// The first line of both sides.
public struct HSLHello: Sendable, Hashable {
    public enum Role: String, Sendable, Hashable { case connector, device }

    public var role: Role
    public var implementation: String
    public var version: String
    public var family: HSLFamily
    public var models: [ScaleModel]
    /// 16 random bytes.
    public var nonce: [UInt8]

    package init(
        role: Role, implementation: String, version: String, family: HSLFamily, models: [ScaleModel], nonce: [UInt8]
    ) {
        (self.role, self.implementation, self.version) = (role, implementation, version)
        (self.family, self.models, self.nonce) = (family, models, nonce)
    }
}

public struct HSLRequest: Sendable, Hashable {
    /// Unique in its session.
    public var id: Int
    /// `nil` for a request that concerns no scale.
    public var device: HSLDeviceID?
    /// The name as written, including names of later versions.
    public var name: String
    public var arguments: JSONTree

    init(id: Int, device: HSLDeviceID?, operation: HSLOperation, arguments: JSONTree) {
        self.init(id: id, device: device, name: operation.rawValue, arguments: arguments)
    }

    init(id: Int, device: HSLDeviceID?, name: String, arguments: JSONTree) {
        (self.id, self.device, self.name, self.arguments) = (id, device, name, arguments.canonical)
    }

    /// `nil` for an operation that this version does not know.
    public var operation: HSLOperation? { HSLOperation(rawValue: name) }
}

public struct HSLEvent: Sendable, Hashable {
    /// The request that it answers; `nil` for a spontaneous event.
    public var ref: Int?
    public var device: HSLDeviceID
    /// The name as written, including names of later versions.
    public var name: String
    public var data: JSONTree
    /// Increases by one with each event of a device.
    public var number: Int
    /// The id in the acknowledgement of a durable event.
    public var rid: String?

    package init(ref: Int?, device: HSLDeviceID, name: String, data: JSONTree, number: Int, rid: String?) {
        (self.ref, self.device, self.name) = (ref, device, name)
        (self.data, self.number, self.rid) = (data.canonical, number, rid)
    }
}

/// A scale in the answer to `devices.list`.
public struct HSLDeviceInfo: Sendable, Hashable {
    public var id: HSLDeviceID
    public var name: String?
    public var firmware: String?
    public var hardware: String?
    public var transport: String?

    public init(
        _ id: HSLDeviceID, name: String? = nil, firmware: String? = nil, hardware: String? = nil,
        transport: String? = nil
    ) {
        (self.id, self.name, self.firmware, self.hardware, self.transport) = (id, name, firmware, hardware, transport)
    }
}

/// The end of a request.
public struct HSLResult: Sendable, Hashable {
    public enum Status: String, Sendable, Hashable { case done, failed, cancelled }

    public var ref: Int
    public var status: Status
    /// The vendor's number, if there is one.
    public var errorCode: Int?
    /// The answer to `devices.list`.
    public var devices: [HSLDeviceInfo]?

    package init(ref: Int, status: Status, errorCode: Int? = nil, devices: [HSLDeviceInfo]? = nil) {
        (self.ref, self.status, self.errorCode, self.devices) = (ref, status, errorCode, devices)
    }
}

/// An error of the dialogue itself.
public struct HSLMessageError: Error, Sendable, Hashable {
    /// The code as written.
    public var code: String
    public var text: String
    public var ref: Int?

    public init(_ code: HSLProtocolError, _ text: String, ref: Int? = nil) {
        (self.code, self.text, self.ref) = (code.rawValue, text, ref)
    }

    init(code: String, text: String, ref: Int?) { (self.code, self.text, self.ref) = (code, text, ref) }

    /// `nil` for a code of a later version.
    public var known: HSLProtocolError? { HSLProtocolError(rawValue: code) }
}
