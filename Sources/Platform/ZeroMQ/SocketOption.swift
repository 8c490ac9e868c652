import CZeroMQ
import Glibc

/// A socket option with the type of its value: `try socket.set(.linger, to: .seconds(1))`.
///
/// Not plain properties, because a Swift setter cannot throw and every option can be refused. Set options before the
/// bind or connect they are for; only linger and those of ROUTER and XPUB act on connections that exist. Those marked
/// *write only* answer ``Socket/get(_:)`` with ``ZeroMQError/Code/invalidArgument``: libzmq cannot report them.
public struct SocketOption<Value: Sendable>: Sendable {
    let number: CInt
    let name: String
    let layout: OptionLayout
    /// Nil when the value is out of libzmq's range.
    let encode: @Sendable (Value) -> OptionValue?
    let decode: @Sendable (OptionValue) -> Value?
}

/// How libzmq lays out an option's value.
enum OptionLayout: Sendable {
    case int, long
    case bytes(capacity: Int)
}

/// An option's value on its way to or from libzmq.
enum OptionValue: Sendable {
    case int(CInt)
    case long(Int64)
    case bytes([UInt8])
}

extension Socket {
    /// Sets an option.
    /// - Throws: ``ZeroMQError/Code/invalidArgument`` when the value is out of range or this kind of socket has no such
    ///   option. The error names the option and never holds the value.
    public func set<Value>(_ option: SocketOption<Value>, to value: Value) throws(ZeroMQError) {
        guard let encoded = option.encode(value) else {
            throw .invalid("zmq_setsockopt", option.name, "the value is outside what libzmq accepts")
        }
        try set(option.number, option.name, encoded)
    }

    /// The current value of an option.
    public func get<Value>(_ option: SocketOption<Value>) throws(ZeroMQError) -> Value {
        guard let value = option.decode(try get(option.number, option.name, option.layout)) else {
            throw .invalid("zmq_getsockopt", option.name, "libzmq reported a value of another shape than documented")
        }
        return value
    }

    func set(_ number: CInt, _ name: String, _ value: OptionValue) throws(ZeroMQError) {
        handle.assertOwned()
        let handle = handle.raw
        try call("zmq_setsockopt", name) {
            switch value {
            case .int(var value): zmq_setsockopt(handle, number, &value, MemoryLayout<CInt>.size)
            case .long(var value): zmq_setsockopt(handle, number, &value, MemoryLayout<Int64>.size)
            // One byte more than is passed, since a null pointer would mean "no security" to the log-in options.
            case .bytes(let bytes):
                (bytes + [0]).withUnsafeBytes { zmq_setsockopt(handle, number, $0.baseAddress, bytes.count) }
            }
        }
    }

    private func get(_ number: CInt, _ name: String, _ layout: OptionLayout) throws(ZeroMQError) -> OptionValue {
        handle.assertOwned()
        let handle = handle.raw
        switch layout {
        case .int:
            var (value, size): (CInt, Int) = (0, MemoryLayout<CInt>.size)
            try call("zmq_getsockopt", name) { zmq_getsockopt(handle, number, &value, &size) }
            return .int(value)
        case .long:
            var (value, size): (Int64, Int) = (0, MemoryLayout<Int64>.size)
            try call("zmq_getsockopt", name) { zmq_getsockopt(handle, number, &value, &size) }
            return .long(value)
        case .bytes(let capacity):
            var size = capacity
            var bytes = [UInt8](repeating: 0, count: capacity)
            try call("zmq_getsockopt", name) { zmq_getsockopt(handle, number, &bytes, &size) }
            return .bytes(Array(bytes.prefix(size)))
        }
    }

    // MARK: - Subscriptions

    /// SUB: lets through messages whose first frame begins with `prefix` (empty: all).
    ///
    /// Counted: each needs its own ``unsubscribe(_:)``.
    ///
    /// Manual XPUB (``SocketOption/xpubManual``): subscribes the peer whose subscription message was *received last* on
    /// this socket to `prefix`, whatever it asked for. Call it before the next receive.
    public func subscribe(_ prefix: some Sequence<UInt8>) throws(ZeroMQError) {
        try set(ZMQ_SUBSCRIBE, "subscribe", .bytes(Array(prefix)))
    }

    /// As ``subscribe(_:)``, with the UTF-8 of `prefix`.
    public func subscribe(_ prefix: String) throws(ZeroMQError) {
        try subscribe(prefix.utf8)
    }

    /// Takes back one ``subscribe(_:)`` of the same prefix.
    public func unsubscribe(_ prefix: some Sequence<UInt8>) throws(ZeroMQError) {
        try set(ZMQ_UNSUBSCRIBE, "unsubscribe", .bytes(Array(prefix)))
    }

    /// As ``unsubscribe(_:)``, with the UTF-8 of `prefix`.
    public func unsubscribe(_ prefix: String) throws(ZeroMQError) {
        try unsubscribe(prefix.utf8)
    }
}
