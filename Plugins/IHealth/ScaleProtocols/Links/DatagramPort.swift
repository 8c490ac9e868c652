import Glibc

/// A UDP socket that finds a scale by searching and then talks to the address that has answered.
///
/// Lost datagrams are not repeated here; the dialogue that uses the port repeats unanswered ones.
final class DatagramPort: Sendable {
    let descriptor: LinkDescriptor
    private let port: UInt16
    /// The destination of searches; `nil` for broadcast.
    private let host: SocketAddress?

    /// The local port of the vendor's software.
    static let usual: UInt16 = 8000

    /// - Parameter bind: the required local port; `nil` for the usual one, or any other if that is taken.
    init(
        _ link: ScaleLink, _ place: ScaleLink.Place, host: String?, port: UInt16, bind: UInt16?
    ) throws(ScaleLinkError) {
        self.port = port
        self.host = try host.map { host throws(ScaleLinkError) in
            try SocketAddress.all(of: host, port, SOCK_DGRAM, family: AF_INET, prefix: "\(link): ")[0]
        }
        let number = LinkDescriptor.socket(AF_INET, SOCK_DGRAM)
        guard number >= 0 else { throw .opening(link, place, errno: errno) }
        descriptor = LinkDescriptor(owning: number)
        var yes: Int32 = 1
        setsockopt(number, SOL_SOCKET, SO_BROADCAST, &yes, socklen_t(MemoryLayout<Int32>.size))
        // Without SO_REUSEADDR, because sharing a port with another program would lose half the answers.
        for candidate in bind.map({ [$0] }) ?? [Self.usual, 0] {
            let address = SocketAddress(ip: INADDR_ANY, port: candidate)
            if address.use({ Glibc.bind(number, $0, $1) }) == 0 { return }
        }
        throw .opening(link, place, errno: errno)
    }

    /// Sends a frame as one datagram; drops it if no scale has answered yet.
    func send(_ outgoing: Mailbox.Outgoing, to peer: SocketAddress?) {
        let targets = outgoing.isSearch ? host.map { [$0] } ?? everybody : [peer].compactMap(\.self)
        for target in targets {
            descriptor.send(outgoing.bytes, to: target)
        }
    }

    /// 255.255.255.255 leaves a machine through one interface only, so each network's own broadcast address is added.
    private var everybody: [SocketAddress] {
        var all: Set = [SocketAddress(ip: INADDR_BROADCAST, port: port)]
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return Array(all) }
        defer { freeifaddrs(list) }
        var next = list
        while let interface = next?.pointee {
            next = interface.ifa_next
            let wanted = UInt32(IFF_UP | IFF_BROADCAST)
            guard interface.ifa_flags & wanted == wanted,
                let address = interface.ifa_ifu.ifu_broadaddr, address.pointee.sa_family == sa_family_t(AF_INET)
            else { continue }
            let ip = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { $0.pointee.sin_addr.s_addr }
            all.insert(SocketAddress(ip: UInt32(bigEndian: ip), port: port))
        }
        return Array(all)
    }
}

extension LinkDescriptor {
    /// The next datagram and its sender; `nil` if there is none, or it is empty.
    package func receive() -> (bytes: [UInt8], sender: SocketAddress)? {
        var received = (result: 0, address: SocketAddress(bytes: []))
        let bytes = [UInt8](unsafeUninitializedCapacity: 2048) { buffer, count in
            received = SocketAddress.written { recvfrom(number, buffer.baseAddress, buffer.count, 0, $0, $1) }
            count = max(0, received.result)
        }
        return received.result > 0 ? (bytes, received.address) : nil
    }

    /// Sends one datagram; if the network does not accept it, it is lost.
    package func send(_ bytes: [UInt8], to receiver: SocketAddress) {
        _ = receiver.use { address, size in
            bytes.withUnsafeBytes { sendto(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL), address, size) }
        }
    }
}
