import Glibc

/// The source or destination of a datagram.
package struct DatagramAddress: Sendable, Hashable {
    /// A `sockaddr_in`, or the equivalent structure of another address family.
    let bytes: [UInt8]

    /// - Parameters: both in host order.
    package init(ip: UInt32, port: UInt16) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr = in_addr(s_addr: ip.bigEndian)
        bytes = withUnsafeBytes(of: address) { Array($0) }
    }

    fileprivate init(_ storage: sockaddr_storage, _ size: socklen_t) {
        bytes = withUnsafeBytes(of: storage) { Array($0.prefix(Int(size))) }
    }
}

/// A UDP socket that finds a scale by searching and then talks to the address that has answered.
///
/// Lost datagrams are not repeated here; the dialogue that uses the port repeats unanswered ones.
final class DatagramPort: Sendable {
    let descriptor: LinkDescriptor
    private let port: UInt16
    /// The destination of searches; `nil` for broadcast.
    private let host: DatagramAddress?

    /// The local port of the vendor's software.
    static let usual: UInt16 = 8000

    /// - Parameter bind: the required local port; `nil` for the usual one, or any other if that is taken.
    init(
        _ link: ScaleLink, _ place: ScaleLink.Place, host: String?, port: UInt16, bind: UInt16?
    ) throws(ScaleLinkError) {
        self.port = port
        self.host = try host.map { host throws(ScaleLinkError) in try Self.lookUp(link, host, port) }
        let number = LinkDescriptor.socket(AF_INET, SOCK_DGRAM)
        guard number >= 0 else { throw .opening(link, place, errno: errno) }
        descriptor = LinkDescriptor(owning: number)
        var yes: Int32 = 1
        setsockopt(number, SOL_SOCKET, SO_BROADCAST, &yes, socklen_t(MemoryLayout<Int32>.size))
        // Without SO_REUSEADDR, because sharing a port with another program would lose half the answers.
        for candidate in bind.map({ [$0] }) ?? [Self.usual, 0] {
            let address = DatagramAddress(ip: INADDR_ANY, port: candidate)
            if address.use({ Glibc.bind(number, $0, $1) }) == 0 { return }
        }
        throw .opening(link, place, errno: errno)
    }

    /// Sends a frame as one datagram; drops it if no scale has answered yet.
    func send(_ outgoing: Mailbox.Outgoing, to peer: DatagramAddress?) {
        let targets = outgoing.isSearch ? host.map { [$0] } ?? everybody : [peer].compactMap(\.self)
        for target in targets {
            descriptor.send(outgoing.bytes, to: target)
        }
    }

    /// 255.255.255.255 leaves a machine through one interface only, so each network's own broadcast address is added.
    private var everybody: [DatagramAddress] {
        var all: Set = [DatagramAddress(ip: INADDR_BROADCAST, port: port)]
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
            all.insert(DatagramAddress(ip: UInt32(bigEndian: ip), port: port))
        }
        return Array(all)
    }

    private static func lookUp(
        _ link: ScaleLink, _ host: String, _ port: UInt16
    ) throws(ScaleLinkError) -> DatagramAddress {
        var hints = addrinfo()
        (hints.ai_family, hints.ai_socktype) = (AF_INET, Int32(SOCK_DGRAM.rawValue))
        var list: UnsafeMutablePointer<addrinfo>?
        let answer = getaddrinfo(host, nil, &hints, &list)
        defer { list.map(freeaddrinfo) }
        let found = list?.pointee.ai_addr?.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
            DatagramAddress(ip: UInt32(bigEndian: $0.pointee.sin_addr.s_addr), port: port)
        }
        guard answer == 0, let found else {
            throw ScaleLinkError(.refused, "\(link): \(host): \(String(cString: gai_strerror(answer)))")
        }
        return found
    }
}

extension LinkDescriptor {
    /// The next datagram and its sender; `nil` if there is none, or it is empty.
    package func receive() -> (bytes: [UInt8], sender: DatagramAddress)? {
        var (storage, size) = (sockaddr_storage(), socklen_t(MemoryLayout<sockaddr_storage>.size))
        var got = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: 2048) { buffer, count in
            got = withUnsafeMutablePointer(to: &storage) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    recvfrom(number, buffer.baseAddress, buffer.count, 0, $0, &size)
                }
            }
            count = max(0, got)
        }
        return got > 0 ? (bytes, DatagramAddress(storage, size)) : nil
    }

    /// Sends one datagram; if the network does not accept it, it is lost.
    package func send(_ bytes: [UInt8], to receiver: DatagramAddress) {
        _ = receiver.use { address, size in
            bytes.withUnsafeBytes { sendto(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL), address, size) }
        }
    }
}

extension DatagramAddress {
    fileprivate func use<Result>(_ call: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        // Copied into aligned storage, because an array's bytes may be unaligned.
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) { $0.copyBytes(from: bytes) }
        return withUnsafePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, socklen_t(bytes.count)) }
        }
    }
}
