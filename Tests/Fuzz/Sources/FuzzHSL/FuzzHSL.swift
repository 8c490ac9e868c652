import ScaleProtocols
import ScaleStandIns

/// One input of libFuzzer: lines of HSL/1, read one by one and as a session of either side.
///
/// The first byte chooses the model that the connector serves. The connector must acknowledge nothing before it is kept.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let first = bytes.first else { return 0 }
    for line in bytes.dropFirst().split(separator: 0x0A).prefix(64) { check(Array(line)) }
    let model = ScaleModel.allCases[Int(first) % 3]
    var settings = HSLSession.Settings(model: model)
    settings.measures = 11
    session(Array(bytes.dropFirst()), settings, keeps: first & 0x40 == 0, step: Int(first >> 4) * 64 + 7)
    return 0
}

private func check(_ line: [UInt8]) {
    guard let message = try? HSLMessage(line: line) else { return }
    let written = Array(message.bytes.dropLast())
    precondition(!written.contains(0x0A), "a message contains a line break")
    guard let again = try? HSLMessage(line: written) else { preconditionFailure("a message cannot be read back") }
    precondition(again.bytes == message.bytes, "a message changes when it is written and read again")
}

private func session(_ bytes: [UInt8], _ settings: HSLSession.Settings, keeps: Bool, step: Int) {
    guard let wall = WallTime(2026, 1, 2, 3, 4, 5), let id = HSLDeviceID(settings.model, "020000003001") else { return }
    var now = ScaleMoment(uptime: .zero, wall: wall)
    var host = HSLSession(settings: settings, seed: Array(repeating: 0, count: 32))
    var device = HSLDevice(HSLDevice.Scale(id))
    _ = host.handle(.linkOpened, at: now)
    _ = device.handle(.linkOpened, at: now)
    let hello = #"{"t":"hello","v":1,"role":"device","impl":"f","nonce":"00000000000000000000000000000000"}"#
    let list = #"{"t":"res","ref":1,"status":"done","devices":[{"dev":"\#(id)","firmware":"1.0.2"}]}"#
    _ = host.handle(.received(Array((hello + "\n" + list + "\n").utf8)), at: now)
    var offered: Set<String> = []
    for start in stride(from: 0, to: bytes.count, by: step) {
        let piece = Array(bytes[start..<min(start + step, bytes.count)])
        var isAnyKept = false
        for action in host.handle(.received(piece), at: now) {
            switch action {
            case .deliver(let delivery):
                precondition(!delivery.readings.isEmpty)
                offered.insert("\(delivery.token)")
                if keeps {
                    isAnyKept = true
                    _ = host.handle(.kept(delivery.token), at: now)
                }
            case .close: _ = host.handle(.linkClosed, at: now)
            default: break
            }
        }
        if keeps, isAnyKept { precondition(!offered.isEmpty) }
        _ = device.handle(.received(piece), at: now)
        now.uptime += .milliseconds(700)
        for _ in 0..<4 {
            guard let deadline = host.deadline, now.uptime >= deadline else { break }
            _ = host.handle(.tick, at: now)
        }
    }
    _ = host.handle(.linkClosed, at: now)
    _ = device.handle(.linkClosed, at: now)
    precondition(host.deadline == nil, "a deadline remains without a link")
}
