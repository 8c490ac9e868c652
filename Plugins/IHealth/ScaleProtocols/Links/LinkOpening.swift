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
        candidates = try link.addresses(of: place, isPassive: false).reversed()
    }

    /// Starts the attempt, or the next one after a failure.
    mutating func begin() -> Outcome {
        if case .serial(let path) = place { return openSerial(path) }
        var failure = EHOSTUNREACH
        while let address = candidates.popLast() {
            let number = address.socket()
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
        for address in try link.addresses(of: place, isPassive: true) {
            let number = address.socket()
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
                port = SocketAddress.port(of: number)
                return
            }
            failure = errno
        }
        throw .opening(link, place, errno: failure)
    }

    /// Accepts a connection, unless it comes from another Bluetooth device than the expected one.
    func accept() -> LinkDescriptor? {
        let (number, address) = SocketAddress.written { Int(Glibc.accept(descriptor.number, $0, $1)) }
        guard number >= 0 else { return nil }
        let caller = LinkDescriptor(owning: Int32(number))
        if case .rfcomm(let awaited, _, _) = place {
            guard address.bluetooth == awaited else { return nil }
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
}

extension ScaleLink {
    /// All addresses of a place, at least one unless it is no stream socket; looking up a host name blocks.
    fileprivate func addresses(of place: Place, isPassive: Bool) throws(ScaleLinkError) -> [SocketAddress] {
        switch place {
        case .rfcomm(let address, let channel, _):
            let address = isPassive ? BluetoothAddress.any ?? address : address
            return [SocketAddress(bytes: address.socketAddress(channel: channel))]
        case .unix(let path): return [SocketAddress(unix: path)]
        case .tcp(let host, let port):
            return try SocketAddress.all(of: host, port, isPassive: isPassive, prefix: "\(self): ")
        case .serial, .udp: return []
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
