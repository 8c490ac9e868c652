/// A Bluetooth device address, six bytes in the order they are printed.
public struct BluetoothAddress: Sendable, Hashable, CustomStringConvertible {
    /// The first byte is the first pair of digits.
    public let bytes: [UInt8]

    /// Reads six pairs of hex digits with colons between them (`00:4D:32:1A:2B:3C`) or without; nil for anything else.
    public init?(_ text: some StringProtocol) {
        let pairs: [Substring]
        let text = Substring(text)
        if text.contains(":") {
            pairs = text.split(separator: ":", omittingEmptySubsequences: false)
        } else {
            guard text.utf8.count == 12 else { return nil }
            pairs = stride(from: 0, to: 12, by: 2).map { text.dropFirst($0).prefix(2) }
        }
        // The digits are checked one by one, because `UInt8(_:radix:)` would also take a sign.
        let bytes = pairs.compactMap { pair -> UInt8? in
            pair.utf8.count == 2 && pair.allSatisfy { $0.isASCII && $0.isHexDigit } ? UInt8(pair, radix: 16) : nil
        }
        guard bytes.count == 6, pairs.count == 6 else { return nil }
        self.bytes = bytes
    }

    /// The address in the six bytes that stand, reversed, from byte 2 of a `sockaddr_rc`; nil where there are fewer.
    init?(socketAddress: some Collection<UInt8>) {
        let reversed = socketAddress.dropFirst(2).prefix(6)
        guard reversed.count == 6 else { return nil }
        bytes = reversed.reversed()
    }

    /// Twelve upper-case hex digits: the device id of a record's source.
    public var digits: String { bytes.map(hex).joined() }

    /// With colons, as `bluetoothctl` prints it.
    public var description: String { bytes.map(hex).joined(separator: ":") }

    /// A `sockaddr_rc`: family in host order, the address bytes reversed, the channel, one byte of padding.
    ///
    /// The header that declares it belongs to libbluetooth, which nothing here needs otherwise.
    public func socketAddress(channel: UInt8) -> [UInt8] {
        let family = UInt16(Bluetooth.family)
        return withUnsafeBytes(of: family) { Array($0) } + bytes.reversed() + [channel, 0]
    }

    /// The address to bind to for calls from anywhere.
    static let any = BluetoothAddress("00:00:00:00:00:00")

    private func hex(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }
}

/// Numbers of Linux's Bluetooth sockets, which glibc's headers leave out.
enum Bluetooth {
    /// `AF_BLUETOOTH`.
    static let family: Int32 = 31
    /// `BTPROTO_RFCOMM`.
    static let rfcomm: Int32 = 3
    /// `SOL_BLUETOOTH`.
    static let level: Int32 = 274
    /// `BT_SECURITY`, whose value is the level and a key size, a byte each.
    static let securityOption: Int32 = 4
}

/// What a Bluetooth link must have before bytes pass.
public enum BluetoothSecurity: String, Sendable, Hashable, CaseIterable {
    /// Nothing.
    case low
    /// A paired device and encryption, as the captured scale has.
    case medium
    /// A pairing that no other device can have listened to.
    case high

    /// The value of the socket option.
    var level: UInt8 {
        switch self {
        case .low: 1
        case .medium: 2
        case .high: 3
        }
    }
}
