import GRDB
import WebFaults

/// The dialogue on a `/websocket` (reference §6.1): a frame in, an answer out.
///
/// Only the task that reads the socket uses it.
struct DeviceDialogue {
    let exchange: Exchange
    /// The number in the registry.
    let number: Int
    /// Whether the client wants answers; without `ack=true` it gets none.
    let acknowledges: Bool
    private var callers: [String: Caller] = [:]

    init(_ exchange: Exchange, number: Int, acknowledges: Bool) {
        (self.exchange, self.number, self.acknowledges) = (exchange, number, acknowledges)
    }

    /// The answer to a frame; `nil` if there is none.
    mutating func answer(to text: String, isTwice: Bool) -> String? {
        let tree = JSONTree(Array(text.utf8)) ?? .null
        let cid = tree["cid"]?.lenientText
        do {
            guard text.utf8.count <= exchange.dialect.messageBytes else {
                throw APIError(413, "The message is too large")
            }
            guard tree.members != nil else { throw APIError(400, "Bad Request") }
            let data = try answer(to: tree, isTwice: isTwice)
            guard acknowledges else { return nil }
            return (["data": data.with(["cid": .text(cid)])] as JSONTree).json
        } catch {
            guard acknowledges else { return nil }
            let refusal = error as? APIError ?? APIError(500, "Internal error")
            let limits = refusal.limits.map { JSONTree.Member($0.name, .text($0.value)) }
            let object = JSONTree.members([
                "code": JSONTree(refusal.status), "message": .text(refusal.socketMessage ?? refusal.message),
                "cid": .text(cid),
            ])
            return (["error": .object((object.members ?? []) + limits)] as JSONTree).json
        }
    }

    private mutating func answer(to tree: JSONTree, isTwice: Bool) throws -> JSONTree {
        switch tree["type"]?.text {
        case "register": return try register(tree)
        case "unregister" where exchange.dialect.isLater:
            guard let sdid = tree["sdid"]?.text else { throw APIError(400, "Missing sdid value") }
            guard let caller = callers.removeValue(forKey: sdid) else { throw APIError(401, "Device not registered") }
            exchange.sockets.unregister(sdid, on: number)
            exchange.reportDisconnection(sdid, caller)
            return ["message": "OK", "code": "200"]
        case "list" where exchange.dialect.isLater:
            return ["message": .list(callers.keys.sorted().map { .text($0) }), "code": "200"]
        default: return ["mid": .text(try take(tree, isTwice: isTwice))]
        }
    }

    private mutating func register(_ tree: JSONTree) throws -> JSONTree {
        guard let sdid = tree["sdid"]?.text, !sdid.isEmpty else { throw APIError(400, "Missing sdid value") }
        let (caller, device): (Caller, DeviceRow)
        do {
            let known = try exchange.caller((tree["Authorization"] ?? tree["authorization"])?.text)
            caller = known
            device = try exchange.database.read { try exchange.device(sdid, for: known, .write, $0) }
        } catch let error as APIError {
            switch error.status {
            case 403: throw APIError(403, "You do not have the right permission: devices")
            case 404: throw APIError(401, "Device(s) not found")
            default: throw error
            }
        }
        guard exchange.sockets.register(sdid, by: caller, on: number) else {
            throw APIError(409, "Device already registered")
        }
        callers[sdid] = caller
        exchange.tell(.deviceConnected, of: device, by: caller)
        return ["message": "OK", "code": "200"]
    }

    private func take(_ tree: JSONTree, isTwice: Bool) throws -> String {
        let posting = try exchange.posting(tree)
        // An action names its destination; its sender is one of the devices on this socket.
        guard let caller = posting.sdid.flatMap({ callers[$0] }) ?? (posting.isAction ? callers.values.first : nil)
        else { throw APIError(401, "Device not registered") }
        if let tally = exchange.limits.count(caller.actor, .socket, at: exchange.now), let excess = tally.excess {
            var refusal = APIError(429, excess)
            refusal.limits = tally.fields
            throw refusal
        }
        let kept = try exchange.database.write { database in
            // The token may have expired since it registered.
            guard let caller = try exchange.caller(token: caller.token, database) else { throw APIError.unauthorized }
            if posting.isAction {
                let destination = try exchange.device(posting.ddid ?? "", for: caller, .write, database)
                return try exchange.keep(posting, for: destination, database)
            }
            let device = try exchange.device(posting.sdid ?? "", for: caller, .write, database)
            return try exchange.keep(posting, of: device, twice: isTwice, database)
        }
        exchange.tell(kept)
        return kept.mid
    }
}
