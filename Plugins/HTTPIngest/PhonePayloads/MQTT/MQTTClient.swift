import CMosquitto
import Glibc
import Synchronization

/// A problem with a broker, for people.
public struct MQTTError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String

    init(_ doing: String, _ code: CInt) {
        // For system errors the text depends on errno.
        let text =
            code == MOSQ_ERR_ERRNO.code ? String(cString: strerror(errno)) : String(cString: mosquitto_strerror(code))
        description = "\(doing): \(text)"
    }
}

/// A subscriber of an MQTT 3.1.1 broker, based on libmosquitto.
///
/// By default the broker keeps its session and delivers messages that were published with QoS 1 while the client was away.
/// The client acknowledges a message when ``Settings/take`` has returned `true`. Until then the broker keeps it, and sends it again on
/// another connection.
public final class MQTTClient: @unchecked Sendable {
    // libmosquitto locks the data that it shares between threads; our own data is in `state`.

    /// A received message.
    public struct Message: Hashable, Sendable {
        public var topic: String
        public var payload: [UInt8]
        /// Whether the broker retains the message and delivers it to each new subscriber.
        public var isRetained: Bool

        public init(topic: String, payload: [UInt8], isRetained: Bool) {
            (self.topic, self.payload, self.isRetained) = (topic, payload, isRetained)
        }
    }

    public struct Settings: Sendable {
        public var host: String
        public var port: Int
        /// The broker identifies the client's session by this name.
        public var name: String
        public var user: String?
        public var password: String?
        /// A file with the trusted certificates for TLS; an empty string for the machine's certificates; `nil` for no TLS.
        public var authorities: String?
        /// Topics, with MQTT's wildcards `+` and `#`.
        public var topics: [String]
        /// Maximum size of a payload in bytes; a longer one is dropped and reported.
        public var maximumBytes = 64 << 20
        /// Whether the broker keeps messages while the client is away.
        public var keepsSession = true
        /// Handles a message on the client's thread, and may block; `false` makes the broker send it again.
        public var take: @Sendable (Message) -> Bool
        /// Called on the client's thread for each new connection, and for each lost one with the reason.
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
    /// The number of subscriptions that the broker has not confirmed on this connection.
    private let unconfirmed = Atomic(0)
    private static let isReady: Bool = mosquitto_lib_init() == MOSQ_ERR_SUCCESS.code

    /// - Throws: ``MQTTError`` if there is no memory, or a certificate file cannot be read.
    public init(_ settings: Settings) throws(MQTTError) {
        guard Self.isReady, let handle = mosquitto_new(settings.name, !settings.keepsSession, nil) else {
            throw MQTTError("making a client", MOSQ_ERR_NOMEM.code)
        }
        (self.settings, self.handle) = (settings, handle)
        mosquitto_user_data_set(handle, Unmanaged.passUnretained(self).toOpaque())
        mosquitto_reconnect_delay_set(handle, 1, 60, true)
        // One message at a time, so that messages are stored in order.
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

    /// Connects, and reconnects after each loss until ``stop()``; returns at once.
    ///
    /// - Throws: ``MQTTError`` if no thread can be started.
    public func start() throws(MQTTError) {
        // If the broker is not there yet, the thread tries again.
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

    /// Publishes a message.
    ///
    /// - Throws: ``MQTTError``. If there is no error, a message of QoS 1 reaches the broker, possibly after a reconnect.
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

    /// Reports the connection when all subscriptions are confirmed.
    ///
    /// Messages published earlier may be lost, but messages kept for a session can come before.
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
        guard count <= settings.maximumBytes else {
            return settings.changed(
                .failure(MQTTError(text: "a message of \(count) bytes was dropped: it is too long")))
        }
        let payload = message.payload.map { Array(UnsafeRawBufferPointer(start: $0, count: count)) } ?? []
        let isTaken = settings.take(
            Message(
                topic: String(cString: message.topic), payload: payload, isRetained: message.retain))
        guard !isTaken else { return }
        // Close the socket, because the library's acknowledgement must not arrive.
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
    /// Whether a topic matches a subscription with `+` and `#`.
    public static func matches(_ topic: String, _ subscription: String) -> Bool {
        var isMatch = false
        return mosquitto_topic_matches_sub(subscription, topic, &isMatch) == MOSQ_ERR_SUCCESS.code && isMatch
    }

    /// Whether a text is a valid MQTT subscription.
    public static func isSubscription(_ text: String) -> Bool {
        mosquitto_sub_topic_check(text) == MOSQ_ERR_SUCCESS.code
    }
}
