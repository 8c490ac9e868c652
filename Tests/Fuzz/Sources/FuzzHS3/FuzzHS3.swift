import ScaleProtocols
import ScaleStandIns
import Sessions

/// One input of libFuzzer: bytes of a HS3 as messages and records, and as one side of a session with its host.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = bytes(start, count)
    for size in [6, 7] where input.count >= size {
        guard let record = HS3Record(input[..<size]) else {
            preconditionFailure("six or seven bytes are not accepted as a record")
        }
        precondition(record.bytes == Array(input[..<size]))
        if let tenths = record.key.tenthsOfKilogram { precondition((0...9999).contains(tenths)) }
    }
    play(input, HS3Host(), HS3Device()) { piece, origin in Frame(origin: origin, body: [0xA6] + piece)?.bytes ?? piece }
    return 0
}
