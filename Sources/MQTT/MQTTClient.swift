import CMosquitto
import Glibc
import Synchronization

/// What is wrong with a broker, for people.
public struct MQTTError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String

    init(_ doing: String, _ code: CInt) {
        // Of the system's own errors the text is in errno.
        let text =
            code == MOSQ_ERR_ERRNO.code ? String(cString: strerror(errno)) : String(cString: mosquitto_strerror(code))
        description = "\(doing): \(text)"
    }
}

/// A subscriber of an MQTT 3.1.1 broker, by libmosquitto.
///
/// With a session that the broker keeps, unless the settings want none: what was published with QoS 1 while it was away comes when it
/// is back. A message is acknowledged when ``Settings/take`` has returned `true`; until then the broker has it, and sends it again on
/// another connection.
public final class MQTTClient: @unchecked Sendable {
    // libmosquitto locks what it shares between threads; what is ours is in `state`.

    /// A message as it came.
    public struct Message: Hashable, Sendable {
        public var topic: String
        public var payload: [UInt8]
        /// What the broker keeps of a topic, and gives to each new subscriber.
        public var isRetained: Bool

        public init(topic: String, payload: [UInt8], isRetained: Bool) {
            (self.topic, self.payload, self.isRetained) = (topic, payload, isRetained)
        }
    }

    public struct Settings: Sendable {
        public var host: String
        public var port: Int
        /// The broker knows its session by it.
        public var name: String
        public var user: String?
        public var password: String?
        /// A file with the certificates to trust, for TLS; empty: those of the machine; `nil`: no TLS.
        public var authorities: String?
        /// With `+` and `#` as MQTT has them.
        public var topics: [String]
        /// The longest payload; a longer one is dropped, and told.
        public var mostBytes = 64 << 20
        /// Whether the broker keeps what is published while the client is away.
        public var keepsSession = true
        /// Takes a message, on a thread of the client's own, which may wait; `false`: not now, the broker shall send it again.
        public var take: @Sendable (Message) -> Bool
        /// Told of each connection, and of each end of one with its reason, on that thread.
        public var changed: @Sendable (Result<Void, MQTTError>) -> Void

        public init(
            host: String, port: Int, name: String, topics: [String], take: @escaping @Sendable (Message) -> Bool,
            changed: @escaping @Sendable (Result<Void, MQTTError>) -> Void = { _ in }
        ) {
            (self.host, self.port, self.name, self.topics) = (host, port, name, topics)
            (self.take, self.changed) = (take, changed)
        }
    }

    private let settings: Settings
    private let handle: OpaquePointer
    private let isStopping = Atomic(false)
    /// Subscriptions of this connection that the broker has not confirmed.
    private let unconfirmed = Atomic(0)
    private static let isReady: Bool = mosquitto_lib_init() == MOSQ_ERR_SUCCESS.code

    /// - Throws: ``MQTTError`` where there is no memory, or a file of certificates cannot be read.
    public init(_ settings: Settings) throws(MQTTError) {
        guard Self.isReady, let handle = mosquitto_new(settings.name, !settings.keepsSession, nil) else {
            throw MQTTError("making a client", MOSQ_ERR_NOMEM.code)
        }
        (self.settings, self.handle) = (settings, handle)
        mosquitto_user_data_set(handle, Unmanaged.passUnretained(self).toOpaque())
        mosquitto_reconnect_delay_set(handle, 1, 60, true)
        // One at a time: what came first is stored first.
        mosquitto_max_inflight_messages_set(handle, 1)
        mosquitto_connect_callback_set(handle) { _, client, code in MQTTClient.of(client)?.connected(code) }
        mosquitto_disconnect_callback_set(handle) { _, client, code in MQTTClient.of(client)?.disconnected(code) }
        mosquitto_subscribe_callback_set(handle) { _, client, _, count, granted in
            MQTTClient.of(client)?.subscribed((0..<Int(count)).map { granted?[$0] ?? 128 })
        }
        mosquitto_message_callback_set(handle) { _, client, message in
            guard let message = message?.pointee else { return }
            MQTTClient.of(client)?.received(message)
        }
        if let user = settings.user { mosquitto_username_pw_set(handle, user, settings.password) }
        guard let authorities = settings.authorities else { return }
        let code =
            authorities.isEmpty
            ? mosquitto_tls_set(handle, nil, "/etc/ssl/certs", nil, nil, nil)
            : mosquitto_tls_set(handle, authorities, nil, nil, nil, nil)
        guard code == MOSQ_ERR_SUCCESS.code else {
            mosquitto_destroy(handle)
            throw MQTTError("reading \(authorities.isEmpty ? "/etc/ssl/certs" : authorities)", code)
        }
    }

    deinit { mosquitto_destroy(handle) }

    private static func of(_ pointer: UnsafeMutableRawPointer?) -> MQTTClient? {
        pointer.map { Unmanaged<MQTTClient>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Connects, and connects again whenever that ends, until ``stop()``; returns at once.
    ///
    /// - Throws: ``MQTTError`` where no thread can be started.
    public func start() throws(MQTTError) {
        // A broker that is not there yet is tried again by the thread.
        let code = mosquitto_connect_async(handle, settings.host, CInt(settings.port), 60)
        if code != MOSQ_ERR_SUCCESS.code { settings.changed(.failure(MQTTError("connecting", code))) }
        let started = mosquitto_loop_start(handle)
        guard started == MOSQ_ERR_SUCCESS.code else { throw MQTTError("starting the client", started) }
    }

    /// Ends the connection; blocks until the thread has ended, which waits for ``Settings/take``.
    public func stop() {
        isStopping.store(true, ordering: .relaxed)
        mosquitto_disconnect(handle)
        mosquitto_loop_stop(handle, false)
    }

    /// Publishes, for tests and those who answer.
    /// - Throws: ``MQTTError``; a message of QoS 1 that was taken comes to the broker, also after another connection.
    public func publish(_ topic: String, _ payload: [UInt8], quality: Int = 1, isRetained: Bool = false)
        throws(MQTTError)
    {
        let code = mosquitto_publish(handle, nil, topic, CInt(payload.count), payload, CInt(quality), isRetained)
        guard code == MOSQ_ERR_SUCCESS.code else { throw MQTTError("publishing", code) }
    }

    // MARK: - On the client's thread

    private func connected(_ code: CInt) {
        guard code == 0 else {
            let reason = String(cString: mosquitto_connack_string(code))
            return settings.changed(.failure(MQTTError(text: "the broker refuses: \(reason)")))
        }
        guard !settings.topics.isEmpty else { return settings.changed(.success(())) }
        unconfirmed.store(settings.topics.count, ordering: .relaxed)
        for topic in settings.topics {
            let code = mosquitto_subscribe(handle, nil, topic, 1)
            if code != MOSQ_ERR_SUCCESS.code { settings.changed(.failure(MQTTError("subscribing", code))) }
        }
    }

    /// What is published before the broker has confirmed a subscription need not come; what it has kept for a session may come before.
    private func subscribed(_ granted: [CInt]) {
        guard !granted.contains(where: { $0 > 2 }) else {
            return settings.changed(.failure(MQTTError(text: "the broker refuses a subscription")))
        }
        if unconfirmed.subtract(1, ordering: .relaxed).newValue == 0 { settings.changed(.success(())) }
    }

    private func disconnected(_ code: CInt) {
        guard code != 0 else { return }
        settings.changed(.failure(MQTTError("the connection ended", code)))
    }

    private func received(_ message: mosquitto_message) {
        let count = Int(message.payloadlen)
        guard count <= settings.mostBytes else {
            return settings.changed(
                .failure(MQTTError(text: "a message of \(count) bytes was dropped: it is too long")))
        }
        let payload = message.payload.map { Array(UnsafeRawBufferPointer(start: $0, count: count)) } ?? []
        let isTaken = settings.take(
            Message(
                topic: String(cString: message.topic), payload: payload, isRetained: message.retain))
        guard !isTaken else { return }
        // The acknowledgement that the library sends now must not arrive.
        let socket = mosquitto_socket(handle)
        if socket >= 0 { shutdown(socket, CInt(SHUT_RDWR)) }
    }
}

extension MQTTError {
    fileprivate init(text: String) { description = text }
}

extension mosq_err_t {
    fileprivate var code: CInt { CInt(rawValue) }
}

extension MQTTClient {
    /// Whether a topic is one that a subscription with `+` and `#` is of.
    public static func matches(_ topic: String, _ subscription: String) -> Bool {
        var isMatch = false
        return mosquitto_topic_matches_sub(subscription, topic, &isMatch) == MOSQ_ERR_SUCCESS.code && isMatch
    }

    /// Whether a text is a subscription as MQTT has them.
    public static func isSubscription(_ text: String) -> Bool {
        mosquitto_sub_topic_check(text) == MOSQ_ERR_SUCCESS.code
    }
}
