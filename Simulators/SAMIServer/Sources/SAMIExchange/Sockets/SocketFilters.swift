import GRDB
import WebFaults

/// The events of `/events` (reference §6.3; only ARTIK Cloud).
enum ExchangeEvent: String, CaseIterable, Sendable {
    case deviceNew = "device.new"
    case deviceConnected = "device.connected"
    case deviceUpdated = "device.updated"
    case deviceDisconnected = "device.disconnected"
    case deviceDeleted = "device.deleted"
    case deviceOnline = "device.status.online"
    case deviceOffline = "device.status.offline"
    case profileUpdated = "user.profile.updated"
}

/// An event of a device.
struct ExchangeDeviceEvent: Sendable {
    let event: ExchangeEvent
    let device: DeviceRow
    /// The application that caused it, if any.
    let aid: String?
    let ts: Int64

    var text: String {
        let data = JSONTree.members([
            "uid": .text(device.uid), "aid": .text(aid), "did": .text(device.id), "dtid": .text(device.dtid),
        ])
        return (["event": .text(event.rawValue), "ts": .whole(ts), "data": data] as JSONTree).json
    }
}

/// The filter of an event socket.
struct EventFilter: Sendable {
    let caller: Caller
    let uid: String
    /// Empty for all.
    let devices: Set<String>
    let events: Set<String>

    func takes(_ event: ExchangeDeviceEvent) -> Bool {
        guard uid == event.device.uid, caller.may(.read, event.device.dtid) else { return false }
        if case .device(let own, _) = caller.kind, own != event.device.id { return false }
        return (devices.isEmpty || devices.contains(event.device.id))
            && (events.isEmpty || events.contains(event.event.rawValue))
    }
}

/// The filter of a live socket.
struct LiveFilter: Sendable {
    let caller: Caller
    let uid: String?
    let devices: Set<String>
    let types: Set<String>

    func takes(_ message: MessageRow) -> Bool {
        if case .device(let own, _) = caller.kind, own != message.sdid { return false }
        guard uid == nil || uid == message.uid, caller.may(.read, message.sdtid) else { return false }
        guard !devices.isEmpty || !types.isEmpty else { return true }
        return devices.contains(message.sdid) || types.contains(message.sdtid)
    }
}

extension Exchange {
    /// The filter that a request to `/events` contains.
    /// - Throws: ``APIError``, which the handshake answers with.
    func eventFilter(_ request: WebRequest) throws -> EventFilter {
        let query = QueryParameters(request.query)
        let caller = try caller(query["Authorization"] ?? request.fields["authorization"])
        let devices = Set(query.list("dids") + query.list("did"))
        let events = Set(query.list("events") + query.list("event"))
        guard events.allSatisfy({ ExchangeEvent(rawValue: $0) != nil }) else {
            throw APIError.invalid("events", "Invalid rule")
        }
        guard let uid = query["uid"] ?? caller.user else { throw APIError.required("uid") }
        try database.read { database in
            try require(caller, mayActFor: uid, database)
            for did in devices { _ = try device(did, for: caller, .read, database) }
        }
        return EventFilter(caller: caller, uid: uid, devices: devices, events: events)
    }

    /// The filter that a request to `/live` contains.
    /// - Throws: ``APIError``, which the handshake answers with.
    func liveFilter(_ request: WebRequest) throws -> LiveFilter {
        let query = QueryParameters(request.query)
        let caller = try caller(query["Authorization"] ?? request.fields["authorization"])
        let devices = Set(query.list("sdids") + query.list("sdid"))
        let types = Set(query.list("sdtids"))
        if case .device = caller.kind, !types.isEmpty {
            throw APIError.forbidden("a device hears no device types")
        }
        try database.read { database in
            if let uid = query["uid"] { try require(caller, mayActFor: uid, database) }
            for did in devices { _ = try device(did, for: caller, .read, database) }
        }
        guard let uid = query["uid"] ?? caller.user else { throw APIError.required("uid") }
        return LiveFilter(caller: caller, uid: uid, devices: devices, types: types)
    }

    /// Reports that the socket on which a device was registered has ended.
    func reportDisconnection(_ did: String, _ caller: Caller) {
        let device = try? database.read { try DeviceRow.filter(sql: "id = ?", arguments: [did]).fetchOne($0) }
        if let device { tell(.deviceDisconnected, of: device, by: caller) }
    }

    /// Sends an event to the event sockets, after the commit.
    func tell(_ event: ExchangeEvent, of device: DeviceRow, by caller: Caller?) {
        guard !faults.isSilent else { return }
        sockets.pass(ExchangeDeviceEvent(event: event, device: device, aid: caller?.application, ts: now))
    }
}
