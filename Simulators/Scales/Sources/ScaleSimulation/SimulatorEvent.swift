import JSON
import Platform
public import ScaleProtocols
public import ScaleStandIns

/// An event of a running simulator: a line of text for people, an object for programs.
public enum SimulatorEvent: Sendable, Hashable {
    /// The scale with this id can be reached at this address. This is the first event; it is repeated when a pty is renewed.
    case listening(String, deviceId: String)
    /// A host is connected.
    case connected
    /// The host is disconnected.
    case disconnected
    /// A dial-out failed; the scale tries again.
    case unreachable(String)
    /// Bytes on the link.
    case wire(FrameOrigin, [UInt8])
    /// A person steps on, or a weighing goes into the memory without being reported to a host.
    ///
    /// It comes before the events of the scale about it.
    case weighing(StandInWeighing, isStored: Bool)
    /// An event in the scale.
    case scale(StandInEvent)
    /// All planned events have happened and are acknowledged, and the link has been silent for half a second since.
    case done

    /// The members of the JSON object, in order; all values are text.
    public var members: [(name: String, value: String)] {
        switch self {
        case .listening(let address, let deviceId):
            [("event", "listening"), ("address", address), ("deviceId", deviceId)]
        case .connected: [("event", "connected")]
        case .disconnected: [("event", "disconnected")]
        case .unreachable(let reason): [("event", "unreachable"), ("reason", reason)]
        case .wire(let origin, let bytes):
            [("event", origin == .host ? "received" : "sent"), ("hex", SimulatorEvent.hex(bytes))]
        case .weighing(let weighing, let isStored): SimulatorEvent.members(weighing, isStored)
        case .scale(let event): SimulatorEvent.members(event)
        case .done: [("event", "done")]
        }
    }

    private static func members(_ event: StandInEvent) -> [(name: String, value: String)] {
        switch event {
        case .sessionOpened: [("event", "sessionOpened")]
        case .clockSet(let time): [("event", "clockSet"), ("local", "\(time)")]
        case .stored(let key): [("event", "stored"), ("key", hex(key))]
        case .acknowledged(let key): [("event", "acknowledged"), ("key", hex(key))]
        case .transferStarted(let count): [("event", "transferStarted"), ("count", "\(count)")]
        case .transferFinished: [("event", "transferFinished")]
        case .fault(let text): [("event", "fault"), ("text", text)]
        case .refused(let text): [("event", "refused"), ("text", text)]
        }
    }

    private static func members(_ weighing: StandInWeighing, _ isStored: Bool) -> [(name: String, value: String)] {
        let tenths = weighing.tenthsOfKilogram
        var members = [("event", "weighing"), ("how", isStored ? "store" : "step on"), ("kg", kilograms(tenths))]
        if let time = weighing.time { members.append(("local", "\(time)")) }
        if let user = weighing.user { members.append(("user", "\(user)")) }
        return members
    }

    private static func kilograms(_ tenths: Int) -> String { "\(tenths / 10).\(tenths % 10)" }

    /// One JSON object without line break.
    public var json: String {
        JSONTree.object(members.map { JSONTree.Member($0.name, .text($0.value)) }).json
    }

    /// A line for people.
    ///
    /// A line with an address contains nothing more, so that a script can read it.
    public var text: String {
        if case .listening(let address, _) = self { return address }
        return members.map(\.value).joined(separator: " ")
    }

    static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { [$0].hexadecimal }.joined(separator: " ")
    }
}
