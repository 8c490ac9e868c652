import ScaleFrames

/// One input of libFuzzer: bytes of a HS3 as messages and records, and as one side of a session with its host.
///
/// The input is cut into pieces; a piece that begins with an odd byte becomes the body of a whole frame, so that the dialogue is reached.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    for size in [6, 7] where bytes.count >= size {
        guard let record = HS3Record(bytes[..<size]) else { preconditionFailure("a record has six or seven bytes") }
        precondition(record.bytes == Array(bytes[..<size]))
        if let tenths = record.key.tenthsOfKilogram { precondition((0...9999).contains(tenths)) }
    }
    var host = HS3Host()
    var device = HS3Device()
    guard let wall = WallTime(2026, 1, 2, 3, 4, 5) else { return 0 }
    var now = ScaleMoment(uptime: .zero, wall: wall)
    _ = host.handle(.linkOpened, at: now)
    _ = device.handle(.linkOpened, at: now)
    var rest = bytes[...]
    while let head = rest.popFirst() {
        let piece = Array(rest.prefix(Int(head >> 1)))
        rest = rest.dropFirst(piece.count)
        let frame = Frame(origin: .scale, body: [0xA6] + piece)
        let wire = head & 1 == 1 ? frame?.bytes ?? [] : piece
        for action in host.handle(.received(wire), at: now) {
            if case .deliver(let delivery) = action { _ = host.handle(.kept(delivery.token), at: now) }
        }
        let command = Frame(origin: .host, body: [0xA6] + piece)
        _ = device.handle(.received(head & 1 == 1 ? command?.bytes ?? [] : piece), at: now)
        now.uptime += .milliseconds(Int(head) * 16)
        if let deadline = host.deadline, now.uptime >= deadline { _ = host.handle(.tick, at: now) }
        if let deadline = device.deadline, now.uptime >= deadline { _ = device.handle(.tick, at: now) }
    }
    return 0
}
