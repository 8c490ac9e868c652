/// The address of a scale, as one line of settings.
///
/// | form | meaning |
/// |---|---|
/// | `rfcomm://00:4D:32:1A:2B:3C?channel=6&security=medium&accept=1` | dials the scale; with `accept` the scale may also dial this machine on that channel |
/// | `rfcomm-accept://00:4D:32:1A:2B:3C?channel=1&security=medium` | only waits until that scale dials this machine |
/// | `tcp://HOST:PORT`, `tcp-accept://HOST:PORT` | a bridge or a simulator |
/// | `unix:///PATH`, `unix-accept:///PATH` | the same on this machine |
/// | `serial:///dev/rfcomm0` | a serial device or a pseudo terminal, in raw mode |
/// | `udp://192.168.1.20:10000?bind=8000`, `udp://*` | a scale on the network, at this address or found by broadcast; from exactly this local port (0: any), or without `bind` from 8000 if that is free |
/// | `hsl://HOST:PORT`, `hsl-accept://HOST:PORT` | a program that speaks HSL/1, such as a bridge on a phone |
public struct ScaleLink: Sendable, Hashable, CustomStringConvertible {
    /// A place to dial or to listen at.
    enum Place: Sendable, Hashable {
        case rfcomm(BluetoothAddress, channel: UInt8, BluetoothSecurity)
        case tcp(host: String, port: UInt16)
        case unix(path: String)
        case serial(path: String)
        /// Without `host` the search is a broadcast; without `bind` the local port is 8000, or any if that is taken.
        case udp(host: String?, port: UInt16, bind: UInt16?)
    }

    /// The place to dial or open repeatedly; `nil` if the scale has to dial this machine.
    let dialled: Place?
    /// The place at which the scale may dial this machine.
    let awaited: Place?
    /// Whether the other end speaks HSL/1 instead of a scale's own frames.
    public let isHSL: Bool
    /// The link as it was written.
    public let description: String

    /// The address of the scale, if the link uses Bluetooth.
    public var bluetoothAddress: BluetoothAddress? {
        for case .rfcomm(let address, _, _) in [dialled, awaited] { return address }
        return nil
    }

    /// Whether the link is a serial port, over Bluetooth or wire.
    public var isSerialPort: Bool {
        if case .serial = dialled { true } else { bluetoothAddress != nil }
    }

    /// Whether the link waits for a program that speaks HSL/1.
    public var awaitsHSL: Bool { isHSL && awaited != nil }

    /// Whether the link listens at an address that other machines can reach.
    public var isOpenToOthers: Bool {
        guard case .tcp(let host, _) = awaited else { return false }
        return !host.hasPrefix("127.") && host != "localhost" && host != "::1"
    }

    /// The maximum number of seconds between two attempts that find no scale.
    ///
    /// A scale is awake for a minute or so, and over Bluetooth only an attempt shows that it is awake. A network peer is reachable, or is being
    /// repaired.
    var longestPause: Duration { bluetoothAddress == nil ? .seconds(30) : .seconds(5) }

    /// Parses one of the forms; the error lists the allowed forms.
    public init(_ text: String) throws(ScaleLinkError) {
        description = text
        guard let end = text.firstRange(of: "://") else {
            let meant = ScaleLink.meant(by: text).map { "; did you mean \($0)?" } ?? ""
            throw ScaleLink.wrong(text, "there is no ://\(meant)")
        }
        let rest = text[end.upperBound...]
        let scheme = text[..<end.lowerBound]
        isHSL = scheme.hasPrefix("hsl")
        switch scheme {
        case "rfcomm":
            var options = try Options(text, rest, allowed: ["channel", "security", "accept"])
            let address = try ScaleLink.address(text, options.place)
            let security = try options.security()
            dialled = .rfcomm(address, channel: try options.channel("channel") ?? 6, security)
            awaited = try options.channel("accept").map { .rfcomm(address, channel: $0, security) }
        case "rfcomm-accept":
            var options = try Options(text, rest, allowed: ["channel", "security"])
            let address = try ScaleLink.address(text, options.place)
            awaited = .rfcomm(address, channel: try options.channel("channel") ?? 1, try options.security())
            dialled = nil
        case "tcp", "hsl": (dialled, awaited) = (try ScaleLink.tcp(text, rest, allowsZero: false), nil)
        case "tcp-accept", "hsl-accept": (dialled, awaited) = (nil, try ScaleLink.tcp(text, rest, allowsZero: true))
        case "unix": (dialled, awaited) = (.unix(path: try ScaleLink.path(text, rest, limit: 107)), nil)
        case "unix-accept": (dialled, awaited) = (nil, .unix(path: try ScaleLink.path(text, rest, limit: 107)))
        case "serial": (dialled, awaited) = (.serial(path: try ScaleLink.path(text, rest, limit: 4095)), nil)
        case "udp":
            var options = try Options(text, rest, allowed: ["bind"])
            (dialled, awaited) = (try ScaleLink.udp(text, options.place, bind: try options.port("bind")), nil)
        default: throw ScaleLink.wrong(text, "\"\(text[..<end.lowerBound])\" is not a kind of link")
        }
    }

    /// The forms, for help and messages.
    public static let forms =
        "rfcomm://00:4D:32:1A:2B:3C, rfcomm-accept://…, tcp://HOST:PORT, tcp-accept://…, unix:///PATH, unix-accept:///…, "
        + "serial:///dev/…, udp://*, hsl://HOST:PORT or hsl-accept://…"

    /// The link with its missing scheme added, if only one scheme is possible.
    private static func meant(by text: String) -> String? {
        let isDevice = text.hasPrefix("/dev/")
        let whole = (isDevice ? "serial://" : text.hasPrefix("/") ? "unix://" : "tcp://") + text
        return (try? ScaleLink(whole))?.description
    }

    private static func wrong(_ text: String, _ why: String) -> ScaleLinkError {
        ScaleLinkError(.address, "link \"\(text)\": \(why); expected \(forms)")
    }

    private static func address(_ text: String, _ place: Substring) throws(ScaleLinkError) -> BluetoothAddress {
        guard let address = BluetoothAddress(place) else {
            throw wrong(text, "\"\(place)\" is not a Bluetooth address of six pairs of hex digits")
        }
        return address
    }

    private static func tcp(_ text: String, _ rest: Substring, allowsZero: Bool) throws(ScaleLinkError) -> Place {
        guard let colon = rest.lastIndex(of: ":"), let port = number(rest[rest.index(after: colon)...], 0...65535),
            allowsZero || port > 0
        else { throw wrong(text, "there is no port from 1 to 65535 at its end") }
        var host = rest[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { throw wrong(text, "there is no host") }
        return .tcp(host: String(host), port: UInt16(port))
    }

    /// Parses a UDP place: the port is optional, and `*` stands for a broadcast search.
    private static func udp(_ text: String, _ place: Substring, bind: UInt16?) throws(ScaleLinkError) -> Place {
        let parts = place.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2, let host = parts.first, !host.isEmpty else { throw wrong(text, "there is no host") }
        var port: UInt16 = 10_000
        if parts.count == 2 {
            guard let number = number(parts[1], 1...65535) else {
                throw wrong(text, "there is no port from 1 to 65535 at its end")
            }
            port = UInt16(number)
        }
        return .udp(host: host == "*" ? nil : String(host), port: port, bind: bind)
    }

    private static func path(_ text: String, _ rest: Substring, limit: Int) throws(ScaleLinkError) -> String {
        guard rest.hasPrefix("/"), rest.utf8.count <= limit, !rest.utf8.contains(0) else {
            throw wrong(text, "the path must be absolute and at most \(limit) bytes long")
        }
        return String(rest)
    }

    fileprivate static func number(_ digits: Substring, _ range: ClosedRange<Int>) -> Int? {
        guard !digits.isEmpty, digits.utf8.count <= 6, digits.utf8.allSatisfy({ (48...57).contains($0) }),
            let number = Int(digits), range.contains(number)
        else { return nil }
        return number
    }

    /// The options after `?`.
    private struct Options {
        let text: String
        let place: Substring
        private var values: [Substring: Substring] = [:]

        init(_ text: String, _ rest: Substring, allowed: [Substring]) throws(ScaleLinkError) {
            self.text = text
            let parts = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
            place = parts.first ?? ""
            guard parts.count == 2 else { return }
            for option in parts[1].split(separator: "&", omittingEmptySubsequences: false) {
                let sides = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard sides.count == 2, allowed.contains(sides[0]), values[sides[0]] == nil else {
                    throw ScaleLink.wrong(
                        text, "\"\(option)\" is none of \(allowed.joined(separator: ", ")), or repeated")
                }
                values[sides[0]] = sides[1]
            }
        }

        mutating func channel(_ name: Substring) throws(ScaleLinkError) -> UInt8? {
            guard let digits = values[name] else { return nil }
            guard let number = ScaleLink.number(digits, 1...30) else {
                throw ScaleLink.wrong(text, "\(name) \"\(digits)\" is not an RFCOMM channel from 1 to 30")
            }
            return UInt8(number)
        }

        mutating func port(_ name: Substring) throws(ScaleLinkError) -> UInt16? {
            guard let digits = values[name] else { return nil }
            guard let number = ScaleLink.number(digits, 0...65535) else {
                throw ScaleLink.wrong(text, "\(name) \"\(digits)\" is not a port from 0 to 65535")
            }
            return UInt16(number)
        }

        mutating func security() throws(ScaleLinkError) -> BluetoothSecurity {
            guard let word = values["security"] else { return .medium }
            guard let level = BluetoothSecurity(rawValue: String(word)) else {
                throw ScaleLink.wrong(text, "security \"\(word)\" is none of low, medium, high")
            }
            return level
        }
    }
}
