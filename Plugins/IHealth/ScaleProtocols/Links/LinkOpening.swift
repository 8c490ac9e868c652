import Glibc

/// A link being opened: the current attempt, and the remaining candidates if it fails.
struct LinkOpening {
    /// The outcome of an attempt.
    enum Outcome {
        case open(LinkDescriptor)
        /// Call `poll` for writability, then ``finish()``.
        case pending(LinkDescriptor)
        case failed(ScaleLinkError)
    }

    private let link: ScaleLink
    private let place: ScaleLink.Place
    /// The remaining addresses; a host name may stand for several.
    private var candidates: [SocketAddress] = []
    private var current: LinkDescriptor?

    /// Prepares an attempt; looking up a host name blocks.
    init(_ link: ScaleLink, _ place: ScaleLink.Place) throws(ScaleLinkError) {
        (self.link, self.place) = (link, place)
        if case .serial = place { return }
        candidates = try SocketAddress.all(link, place, isPassive: false).reversed()
    }

    /// Starts the attempt, or the next one after a failure.
    mutating func begin() -> Outcome {
        if case .serial(let path) = place { return openSerial(path) }
        var failure = EHOSTUNREACH
        while let address = candidates.popLast() {
            let number = LinkDescriptor.socket(address.family, SOCK_STREAM, address.protocolNumber)
            guard number >= 0 else {
                failure = errno
                continue
            }
            let descriptor = LinkDescriptor(owning: number)
            if case .rfcomm(_, _, let security) = place {
                if let number = demand(security, on: descriptor) {
                    return .failed(.opening(link, place, errno: number))
                }
            } else {
                keepAlive(descriptor)
            }
            let result = address.use { connect(number, $0, $1) }
            if result == 0 { return .open(descriptor) }
            if errno == EINPROGRESS || errno == EINTR {
                current = descriptor
                return .pending(descriptor)
            }
            failure = errno
        }
        return .failed(.opening(link, place, errno: failure))
    }

    /// The outcome of a pending attempt, once its descriptor is writable.
    mutating func finish() -> Outcome {
        guard let descriptor = current else { return begin() }
        current = nil
        var (failure, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        if getsockopt(descriptor.number, SOL_SOCKET, SO_ERROR, &failure, &size) != 0 { failure = errno }
        if failure == 0 { return .open(descriptor) }
        if candidates.isEmpty { return .failed(.opening(link, place, errno: failure)) }
        return begin()
    }

    /// Gives up waiting for the pending attempt.
    mutating func expire() -> Outcome {
        current = nil
        return candidates.isEmpty ? .failed(.opening(link, place, errno: ETIMEDOUT)) : begin()
    }

    private func openSerial(_ path: String) -> Outcome {
        // Without O_NONBLOCK `open` waits for a carrier and cannot be interrupted by `stop`.
        let number = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        guard number >= 0 else { return .failed(.opening(link, place, errno: errno)) }
        let descriptor = LinkDescriptor(owning: number)
        guard flock(number, LOCK_EX | LOCK_NB) == 0 else { return .failed(.opening(link, place, errno: errno)) }
        var mode = termios()
        guard tcgetattr(number, &mode) == 0 else {
            return .failed(ScaleLinkError(.refused, "\(link): this is not a serial device"))
        }
        // Raw mode: no echo, and no byte with a meaning for the line discipline. The speed stays unchanged.
        cfmakeraw(&mode)
        mode.c_cflag |= tcflag_t(CLOCAL | CREAD)
        guard tcsetattr(number, TCSANOW, &mode) == 0 else { return .failed(.opening(link, place, errno: errno)) }
        // Bytes from before belong to a session that has ended.
        tcflush(number, TCIFLUSH)
        return .open(descriptor)
    }
}

/// A place at which the scale may dial this machine.
struct LinkListener {
    let descriptor: LinkDescriptor
    /// The port in use, if the link is a TCP link.
    let port: UInt16?
    private let link: ScaleLink
    private let place: ScaleLink.Place

    init(_ link: ScaleLink, _ place: ScaleLink.Place) throws(ScaleLinkError) {
        (self.link, self.place) = (link, place)
        var failure = EADDRNOTAVAIL
        for address in try SocketAddress.all(link, place, isPassive: true) {
            let number = LinkDescriptor.socket(address.family, SOCK_STREAM, address.protocolNumber)
            guard number >= 0 else {
                failure = errno
                continue
            }
            let descriptor = LinkDescriptor(owning: number)
            switch place {
            case .rfcomm(_, _, let security):
                if let problem = demand(security, on: descriptor) { throw .opening(link, place, errno: problem) }
            case .unix(let path): LinkListener.removeStale(path, address)
            case .tcp: setOption(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
            case .serial, .udp: break
            }
            if address.use({ bind(number, $0, $1) }) == 0, listen(number, 16) == 0 {
                self.descriptor = descriptor
                port = LinkListener.port(of: number)
                return
            }
            failure = errno
        }
        throw .opening(link, place, errno: failure)
    }

    /// Accepts a connection, unless it comes from another Bluetooth device than the expected one.
    func accept() -> LinkDescriptor? {
        var (storage, size) = (sockaddr_storage(), socklen_t(MemoryLayout<sockaddr_storage>.size))
        let number = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.accept(descriptor.number, $0, &size) }
        }
        guard number >= 0 else { return nil }
        let caller = LinkDescriptor(owning: number)
        if case .rfcomm(let awaited, _, _) = place {
            let address = withUnsafeBytes(of: storage) { BluetoothAddress(socketAddress: $0.prefix(Int(size))) }
            guard address == awaited else { return nil }
        } else {
            keepAlive(caller)
        }
        caller.setNonBlocking()
        return caller
    }

    /// Removes the socket file of a killed process, which would make `bind` fail; one that answers belongs to another program.
    private static func removeStale(_ path: String, _ address: SocketAddress) {
        let probe = LinkDescriptor(owning: LinkDescriptor.socket(AF_UNIX, SOCK_STREAM))
        if address.use({ connect(probe.number, $0, $1) }) != 0, errno == ECONNREFUSED { unlink(path) }
    }

    private static func port(of number: Int32) -> UInt16? {
        var (storage, size) = (sockaddr_storage(), socklen_t(MemoryLayout<sockaddr_storage>.size))
        let result = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(number, $0, &size) }
        }
        guard result == 0, [AF_INET, AF_INET6].contains(Int32(storage.ss_family)) else { return nil }
        // The port is in bytes 2 and 3 in the addresses of both families.
        return withUnsafeBytes(of: &storage) { UInt16($0[2]) << 8 | UInt16($0[3]) }
    }
}

/// An address in the form that the socket calls need.
struct SocketAddress {
    let family: Int32
    let protocolNumber: Int32
    private let bytes: [UInt8]

    /// All addresses of a place, at least one; looking up a host name blocks.
    static func all(
        _ link: ScaleLink, _ place: ScaleLink.Place, isPassive: Bool
    ) throws(ScaleLinkError) -> [SocketAddress] {
        switch place {
        case .rfcomm(let address, let channel, _):
            let bytes = (isPassive ? BluetoothAddress.any ?? address : address).socketAddress(channel: channel)
            return [SocketAddress(family: Bluetooth.family, protocolNumber: Bluetooth.rfcomm, bytes: bytes)]
        case .unix(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
            let bytes = withUnsafeBytes(of: address) { Array($0) }
            return [SocketAddress(family: AF_UNIX, protocolNumber: 0, bytes: bytes)]
        case .tcp(let host, let port): return try lookUp(link, host, port, isPassive)
        case .serial, .udp: return []
        }
    }

    private static func lookUp(
        _ link: ScaleLink, _ host: String, _ port: UInt16, _ isPassive: Bool
    ) throws(ScaleLinkError) -> [SocketAddress] {
        var hints = addrinfo()
        (hints.ai_flags, hints.ai_socktype) = (isPassive ? AI_PASSIVE : 0, Int32(SOCK_STREAM.rawValue))
        var list: UnsafeMutablePointer<addrinfo>?
        let answer = getaddrinfo(host, String(port), &hints, &list)
        defer { list.map(freeaddrinfo) }
        var (found, next) = ([SocketAddress](), list)
        while let info = next?.pointee {
            if let address = info.ai_addr {
                let bytes = Array(UnsafeRawBufferPointer(start: address, count: Int(info.ai_addrlen)))
                found.append(
                    SocketAddress(family: info.ai_family, protocolNumber: info.ai_protocol, bytes: bytes))
            }
            next = info.ai_next
        }
        guard answer == 0, !found.isEmpty else {
            throw ScaleLinkError(.refused, "\(link): \(host): \(String(cString: gai_strerror(answer)))")
        }
        return found
    }

    func use(_ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        // Copied into aligned storage, because an array's bytes may be unaligned.
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) { $0.copyBytes(from: bytes) }
        return withUnsafePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, socklen_t(bytes.count)) }
        }
    }
}

/// Sets a numeric option; a socket that does not know the option does not need it.
private func setOption(_ descriptor: LinkDescriptor, _ level: Int32, _ name: Int32, _ value: Int32) {
    var value = value
    setsockopt(descriptor.number, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
}

/// Makes TCP detect within a minute that the other side of an idle connection has gone.
private func keepAlive(_ descriptor: LinkDescriptor) {
    setOption(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)
    setOption(descriptor, Int32(IPPROTO_TCP), TCP_KEEPIDLE, 30)
    setOption(descriptor, Int32(IPPROTO_TCP), TCP_KEEPINTVL, 10)
    setOption(descriptor, Int32(IPPROTO_TCP), TCP_KEEPCNT, 3)
    // Frames are small, and each waits for the other side's answer.
    setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
}

/// Makes the kernel reject bytes until the Bluetooth link has this security level; returns an error number.
private func demand(_ security: BluetoothSecurity, on descriptor: LinkDescriptor) -> Int32? {
    let option: [UInt8] = [security.level, 0]
    let result = setsockopt(
        descriptor.number, Bluetooth.level, Bluetooth.securityOption, option, socklen_t(option.count))
    return result == 0 ? nil : errno
}
