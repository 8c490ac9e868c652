import GRDB
import WebFaults

/// A message or an action, received by REST or on a socket.
struct Posting: Sendable {
    let isAction: Bool
    let sdid: String?
    let ddid: String?
    /// Milliseconds since 1970; nil for now.
    let ts: Int64?
    let data: JSONTree

    init(_ tree: JSONTree, now: Int64, grace: Int64) throws(APIError) {
        isAction = tree["type"]?.text == "action"
        (sdid, ddid) = (tree["sdid"]?.text, tree["ddid"]?.text)
        guard isAction || sdid?.isEmpty == false else {
            throw APIError.required("sdid").onSocket("Missing sdid value")
        }
        guard !isAction || ddid?.isEmpty == false else {
            throw APIError.required("ddid").onSocket("Missing ddid value")
        }
        if let time = tree["ts"], time != .null {
            guard let milliseconds = time.lenientInteger, milliseconds >= 0 else {
                throw APIError.invalid("ts", "Numeric field only").onSocket("Invalid ts value")
            }
            guard milliseconds <= now + grace else {
                throw APIError.invalid("ts", "Maximum value \(now + grace)").onSocket("Invalid ts value (in future)")
            }
            ts = milliseconds
        } else {
            ts = nil
        }
        guard let data = tree["data"], data != .null else {
            throw APIError.required("data").onSocket("Bad Request")
        }
        self.data = data
    }
}

/// The stored part of a posting, for the listeners to be notified after the commit.
struct StoredPosting: Sendable {
    let mid: String
    /// Stored messages: none for an action, two with the fault `twice`.
    var messages: [MessageRow] = []
    var action: ActionRow?
}

extension Exchange {
    func posting(_ tree: JSONTree) throws(APIError) -> Posting {
        try Posting(tree, now: now, grace: options.futureGrace)
    }

    /// Stores a message of `device`, normalised by its manifest.
    func keep(
        _ posting: Posting, of device: DeviceRow, twice: Bool = false, _ database: Database
    ) throws -> StoredPosting {
        let manifest = try manifest(of: device, database)
        let time = now
        // A manifest of the real service parsed text with its own program; ours accept JSON in it, and Withings' payloads.
        let posted = posting.data.text.flatMap { JSONTree(Array($0.utf8)) } ?? posting.data
        let payload = device.dtid == Fixtures.withings ? WithingsPayload.read(posted) : nil
        let ts = posting.ts ?? payload?.ts.flatMap { $0 <= time + options.futureGrace ? $0 : nil } ?? time
        let data = manifest?.normalised(payload?.data ?? posted) ?? [:]
        let raw = posting.data.text ?? posting.data.json
        var messages: [MessageRow] = []
        for _ in 0..<(twice ? 2 : 1) {
            var message = MessageRow(
                mid: Identifier.make(), sdid: device.id, sdtid: device.dtid, uid: device.uid, ts: ts,
                cts: time, mv: manifest?.version ?? device.manifestVersion, data: data.json, raw: raw,
                visibleOn: time + options.deliveryDelay)
            try message.insert(database)
            messages.append(message)
        }
        try database.execute(
            sql: "UPDATE device SET lastSeenOn = ? WHERE id = ?", arguments: [time, device.id])
        return StoredPosting(mid: messages[0].mid, messages: messages)
    }

    /// Stores an action for `destination`.
    func keep(_ posting: Posting, for destination: DeviceRow, _ database: Database) throws -> StoredPosting {
        let time = now
        var action = ActionRow(
            mid: Identifier.make(), sdid: posting.sdid, ddid: destination.id, ddtid: destination.dtid,
            uid: destination.uid, ts: posting.ts ?? time, cts: time, mv: destination.manifestVersion,
            data: posting.data.json)
        try action.insert(database)
        return StoredPosting(mid: action.mid, action: action)
    }

    /// Sends the stored messages to the sockets, after the commit.
    func tell(_ kept: StoredPosting) {
        guard !faults.isSilent else { return }
        for message in kept.messages { sockets.pass(message) }
        if let action = kept.action { sockets.pass(action) }
    }
}

extension FaultQueue {
    /// Whether sockets stay open without any frames: no pings, no messages.
    var isSilent: Bool { faults.contains { $0.kind == .form("silent") } }
}
