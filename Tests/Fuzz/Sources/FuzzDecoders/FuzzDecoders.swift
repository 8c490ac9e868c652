import ScaleProtocols
import ScaleStandIns

/// One input of libFuzzer: the body of a frame as a message of each model, and its end as a record of each.
///
/// The first byte chooses the model and the sender. A value that was read must be the same after it is written and read again.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count).prefix(300))
    guard let first = bytes.first else { return 0 }
    let (origin, body): (FrameOrigin, [UInt8]) = (first & 1 == 0 ? .scale : .host, Array(bytes.dropFirst()))
    switch first >> 1 & 3 {
    case 0: hs3(body, origin)
    case 1: hs4(body, origin)
    case 2: hs5(body, origin)
    default: fields(body, mode: first)
    }
    return 0
}

private func hs3(_ body: [UInt8], _ origin: FrameOrigin) {
    guard let frame = Frame(origin: origin, body: [0xA6] + body), let message = HS3Frame(frame) else { return }
    precondition(message.bytes == frame.bytes, "a frame changes when it is written and read again")
    switch HS3ScaleMessage(message) {
    case .memory(let records, let trailing):
        precondition(records.count <= 36 && trailing < 7)
        for record in records { check(record) }
    case .weight(let record): check(record)
    default: break
    }
    if case .setClock(let time) = HS3HostMessage(message), let written = time.hs3Binary(for: .setClock) {
        precondition(WallTime(hs3Binary: written) == time)
    }
}

private func check(_ record: HS3Record) {
    precondition(HS3Record(record.bytes[...]) == record, "a record changes when it is written and read again")
    if let tenths = record.key.tenthsOfKilogram { precondition((0...9999).contains(tenths)) }
}

private func message(_ body: [UInt8], _ origin: FrameOrigin, _ product: UInt8) -> FamilyMessage? {
    guard body.count >= 2,
        let frame = Frame(origin: origin, body: [body[0], body[1], product] + body[2...]).flatMap(FamilyFrame.init)
    else { return nil }
    var collector = FragmentCollector()
    if case .message(let message) = collector.append(frame) { return message }
    return nil
}

private func hs4(_ body: [UInt8], _ origin: FrameOrigin) {
    guard let message = message(body, origin, 0xA6) else { return }
    if origin == .scale { _ = HS4ScaleMessage(message) }
    var again = message
    guard origin == .host, let content = HS4HostMessage(message).content else { return }
    (again.command, again.data) = content
    precondition(
        HS4HostMessage(again) == HS4HostMessage(message), "a message changes when it is written and read again")
}

private func hs5(_ body: [UInt8], _ origin: FrameOrigin) {
    guard let message = message(body, origin, 0xA9) else { return }
    if origin == .scale, case .memoryPacket(let records, _, _, let trailing) = HS5ScaleMessage(message) {
        precondition(records.count <= 15 && trailing < 16)
    }
    var again = message
    guard origin == .host, let content = HS5HostMessage(message).content else { return }
    (again.command, again.data, again.isAnswer) = content
    precondition(
        HS5HostMessage(again) == HS5HostMessage(message), "a message changes when it is written and read again")
}

private func fields(_ bytes: [UInt8], mode: UInt8) {
    if let record = HS4Record(bytes) { precondition(record.bytes == bytes) }
    if let record = HS5Record(bytes) {
        precondition(record.bytes == bytes)
        if let time = record.time {
            let again = HS5Record(time, tenthsOfKilogram: record.tenthsOfKilogram, record.composition)
            precondition(again == record, "a record changes when it is written and read again")
        }
    }
    if let identity = ScaleIdentity(bytes), let again = ScaleIdentity(identity.bytes) {
        precondition(ScaleIdentity(again.bytes) == again, "an identity changes when it is written and read again")
    }
    for mode in HS3HourMode.allCases where bytes.count >= 4 {
        let packed = bytes.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        if let time = WallTime(hs3Packed: packed, mode: mode), let written = time.hs3Packed(mode: mode) {
            precondition(WallTime(hs3Packed: written, mode: mode) == time)
        }
    }
    guard let host = WallTime(2026, 1, 2, 3, 4, 5) else { return }
    for mode in HS3ClockMode.allCases {
        if let time = WallTime(hs3BCD: Array(bytes.prefix(6)), mode: mode, host: host) {
            precondition(time.hs3BCD(mode: mode).flatMap { WallTime(hs3BCD: $0, mode: mode, host: time) } == time)
        }
    }
    _ = FamilyFrame(datagram: bytes)
    if let datagram = HS5Datagram(bytes) { precondition(datagram.sender != nil || bytes.count > 2) }
}
