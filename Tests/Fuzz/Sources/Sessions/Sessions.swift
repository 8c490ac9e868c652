public import ScaleProtocols
public import ScaleStandIns

/// Plays an input of libFuzzer as both sides of a session: the host and the scale each receive every piece of it.
///
/// The first byte of a piece is twice its length. If it is odd, the piece becomes a whole frame, so that it reaches the dialogue; otherwise
/// it goes over the link as it is. A delivery must have readings, and without a link nothing must be waited for.
/// - Parameter whole: makes a frame of a piece.
public func play(
    _ bytes: [UInt8], _ host: some ScaleDialogue, _ device: some ScaleStandIn,
    whole: ([UInt8], FrameOrigin) -> [UInt8]
) {
    guard let wall = WallTime(2026, 1, 2, 3, 4, 5) else { return }
    var (host, device, now) = (host, device, ScaleMoment(uptime: .zero, wall: wall))
    _ = host.handle(.linkOpened, at: now)
    _ = device.handle(.linkOpened, at: now)
    var rest = bytes[...]
    while let head = rest.popFirst() {
        let piece = Array(rest.prefix(Int(head >> 1)))
        rest = rest.dropFirst(piece.count)
        for action in host.handle(.received(head & 1 == 1 ? whole(piece, .scale) : piece), at: now) {
            if case .deliver(let delivery) = action {
                precondition(!delivery.readings.isEmpty)
                _ = host.handle(head & 2 == 0 ? .kept(delivery.token) : .notKept(delivery.token), at: now)
            }
        }
        _ = device.handle(.received(head & 1 == 1 ? whole(piece, .host) : piece), at: now)
        now.uptime += .milliseconds(Int(head) * 16)
        if let deadline = host.deadline, now.uptime >= deadline { _ = host.handle(.tick, at: now) }
        if let deadline = device.deadline, now.uptime >= deadline { _ = device.handle(.tick, at: now) }
    }
    _ = host.handle(.linkClosed, at: now)
    _ = device.handle(.linkClosed, at: now)
    precondition(host.deadline == nil, "a deadline remains without a link")
}

/// The bytes of an input.
public func bytes(_ start: UnsafePointer<UInt8>?, _ count: Int) -> [UInt8] {
    Array(UnsafeBufferPointer(start: start, count: count))
}
