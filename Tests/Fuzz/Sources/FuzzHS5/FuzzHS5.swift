import ScaleFrames

/// One input of libFuzzer: bytes as both sides of a session with a HS5.
///
/// The input is cut into pieces; a piece that begins with an odd byte becomes a whole frame, so that the dialogue is reached.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let wall = WallTime(2026, 1, 2, 3, 4, 5) else { return 0 }
    var now = ScaleMoment(uptime: .zero, wall: wall)
    var host = HS5Host()
    var device = HS5Device()
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
    return 0
}

private func whole(_ piece: [UInt8], _ origin: FrameOrigin) -> [UInt8] {
    guard piece.count >= 3 else { return piece }
    if let record = HS5Record(piece.suffix(16)) {
        precondition(record.bytes == Array(piece.suffix(16)))
        if let time = record.time {
            let again = HS5Record(time, tenthsOfKilogram: record.tenthsOfKilogram, record.composition)
            precondition(again == record, "a record does not come back as it was")
        }
    }
    guard let id = HS5SenderID([2, 0, 0, 0, 0, origin == .host ? 1 : 0x50]) else { return piece }
    return HS5Datagram.bytes(
        from: origin, piece[0], Array(piece.dropFirst(2)), sequence: piece[1], isAnswer: piece[0] & 1 == 1, sender: id)
        ?? piece
}
