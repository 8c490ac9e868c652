import ScaleProtocols
import ScaleStandIns
import Sessions

/// One input of libFuzzer: bytes as both sides of a session with a HS4.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    play(bytes(start, count), HS4Host(), HS4Device()) { piece, origin in
        guard piece.count >= 3 else { return piece }
        return Frame(origin: origin, body: [piece[0], piece[1], 0xA6] + piece[2...])?.bytes ?? piece
    }
    return 0
}
