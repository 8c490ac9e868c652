import GRDB
import WebFaults

extension Exchange {
    /// The kind of socket of a path below `/v1.1`.
    enum SocketKind: String { case websocket, live, events }

    func socket(_ path: String) -> SocketKind? {
        let parts = path.split(separator: "/")
        guard parts.count == 2, parts[0].lowercased() == "v1.1" else { return nil }
        let kind = SocketKind(rawValue: String(parts[1]))
        return kind == .events && !dialect.isLater ? nil : kind
    }

    /// The subscription that a handshake requests; `nil` for a device's socket.
    /// - Throws: ``APIError``, which the handshake answers with.
    func hearing(_ handshake: WebRequest) throws -> SocketRegistry.Subscription? {
        switch socket(handshake.path) {
        case .websocket: nil
        case .live: .messages(try liveFilter(handshake))
        case .events: .events(try eventFilter(handshake))
        case nil: throw APIError.notFound
        }
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
}
