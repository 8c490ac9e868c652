import Platform

/// A Bluetooth device address: six bytes in the order in which they are printed.
public struct BluetoothAddress: Sendable, Hashable, CustomStringConvertible {
    /// The first byte is the first pair of digits.
    public let bytes: [UInt8]

    /// Parses six pairs of hex digits, with colons between them (`00:4D:32:1A:2B:3C`) or without; `nil` for any other text.
    public init?(_ text: some StringProtocol) {
        let pairs = text.split(separator: ":", omittingEmptySubsequences: false)
        guard pairs.count == 1 || pairs.allSatisfy({ $0.utf8.count == 2 }),
            let bytes = [UInt8](hexadecimal: pairs.joined()), bytes.count == 6
        else { return nil }
        self.bytes = bytes
    }

    /// Reads the address from a `sockaddr_rc`, which holds its six bytes, reversed, from byte 2; `nil` if there are fewer.
    init?(socketAddress: some Collection<UInt8>) {
        let reversed = socketAddress.dropFirst(2).prefix(6)
        guard reversed.count == 6 else { return nil }
        bytes = reversed.reversed()
    }

    /// Twelve upper-case hex digits: the device id of a record's source.
    public var digits: String { bytes.hexadecimal.uppercased() }

    /// The address with colons, as `bluetoothctl` prints it.
    public var description: String { bytes.map { [$0].hexadecimal.uppercased() }.joined(separator: ":") }

    /// A `sockaddr_rc`: family in host order, the address bytes reversed, the channel, one byte of padding.
    ///
    /// The header that declares it belongs to libbluetooth, which this module does not need otherwise.
    public func socketAddress(channel: UInt8) -> [UInt8] {
        let family = UInt16(Bluetooth.family)
        return withUnsafeBytes(of: family) { Array($0) } + bytes.reversed() + [channel, 0]
    }

    /// The address to bind to for connections from any device.
    static let any = BluetoothAddress("00:00:00:00:00:00")
}

/// Constants of Linux's Bluetooth sockets that glibc's headers lack.
enum Bluetooth {
    /// `AF_BLUETOOTH`.
    static let family: Int32 = 31
    /// `BTPROTO_RFCOMM`.
    static let rfcomm: Int32 = 3
    /// `SOL_BLUETOOTH`.
    static let level: Int32 = 274
    /// `BT_SECURITY`; its value consists of the level and a key size, one byte each.
    static let securityOption: Int32 = 4
}

/// The security that a Bluetooth link needs before bytes pass.
public enum BluetoothSecurity: String, Sendable, Hashable, CaseIterable {
    /// No requirement.
    case low
    /// A paired device and encryption, like the captured scale.
    case medium
    /// A pairing that other devices cannot have intercepted.
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
