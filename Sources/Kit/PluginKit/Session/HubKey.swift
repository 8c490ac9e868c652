import Foundation
import HubWire
import ZeroMQ

/// The checked content of a key file, the log-in of a plugin on another machine (Protocol §2).
package struct HubKey: Sendable {
    package let instance: String
    package let door: String
    let hub: CurveKey
    let pair: CurveKeyPair

    /// - Parameter path: the path of the file that `hub keys new` printed.
    /// - Throws: ``PluginFailure`` if the file cannot be read or is not a key file.
    package init(path: String) throws {
        let data: Data
        do {
            data = try Data(contentsOf: URL(filePath: path))
        } catch {
            throw PluginFailure(.usage, "\(path): the key cannot be read: \(error.localizedDescription)")
        }
        try self.init(data, path)
    }

    init(_ data: Data, _ path: String) throws {
        // A decoder's error could quote the file, which contains a secret.
        guard let file = try? JSONDecoder().decode(KeyFile.self, from: data), PeerName.isValid(file.instance),
            file.door.hasPrefix("tcp://"), let hub = CurveKey(z85: file.serverKey),
            let publicKey = CurveKey(z85: file.publicKey), let secretKey = CurveSecretKey(z85: file.secretKey)
        else {
            throw PluginFailure(
                .usage, "\(path): this is not a whole key file; make one with hub keys new NAME on the hub's machine")
        }
        guard try secretKey.publicKey() == publicKey else {
            throw PluginFailure(
                .usage, "\(path): the two keys do not belong together; take the file as hub keys new has printed it")
        }
        (instance, door, self.hub) = (file.instance, file.door, hub)
        pair = CurveKeyPair(publicKey: publicKey, secretKey: secretKey)
    }

    /// A warning for people if others can read the file; otherwise `nil`.
    package static func warning(path: String) -> String? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            let mode = (attributes[.posixPermissions] as? NSNumber)?.uint16Value, mode & 0o077 != 0
        else { return nil }
        return "\(path): others can read this key, and can act as this plugin with it; chmod 600 \(path)"
    }

    func apply(to socket: borrowing Socket) throws(ZeroMQError) {
        try socket.set(.curveServerKey, to: hub)
        try socket.set(.curvePublicKey, to: pair.publicKey)
        try socket.set(.curveSecretKey, to: pair.secretKey)
        // A pulled cable is not reported; libzmq's heartbeats detect it and reconnect.
        try socket.set(.heartbeatInterval, to: .seconds(10))
        try socket.set(.heartbeatTimeout, to: .seconds(20))
    }
}

extension HubAddress {
    /// Sets the log-in of a socket that is not connected yet.
    func applyLogIn(to socket: borrowing Socket) throws(ZeroMQError) {
        switch logIn {
        case .token(let instance, let token):
            try socket.set(.plainUsername, to: instance)
            try socket.set(.plainPassword, to: token)
        case .key(let key): try key.apply(to: socket)
        case nil: break
        }
    }

    /// The reason why a log-in was refused, and the remedy.
    var refusal: String {
        switch logIn {
        case .key(let key):
            "the hub at \(door) does not know this key (any more), or does not expect \(key.instance); on its machine see hub keys list and hub.conf"
        case .token, nil: "the log-in with the launch token was refused"
        }
    }

    /// The mechanism of this end's log-in, as ZeroMQ names it.
    var mechanism: String {
        switch logIn {
        case .key: "CURVE"
        case .token: "PLAIN"
        case nil: "NULL"
        }
    }

    /// The reason why this door does not accept the kind of log-in, and the remedy.
    var mismatch: String {
        switch logIn {
        case .key: "\(door) takes no keys: hub status --json on its machine prints the endpoint that does"
        case .token: "\(door) takes no launch tokens, although HUB_DOOR names it: let the hub start this plugin"
        case nil:
            "\(door) asks for a log-in: name the owner's door with --door (hub status --json prints it), or add the --key of a plugin on another machine"
        }
    }
}
