import ScaleFrames
import Sessions

/// One input of libFuzzer: bytes as both sides of a session with a HS3.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    play(bytes(start, count), HS3Host(), HS3Device()) { piece, origin in
        Frame(origin: origin, body: [0xA6] + piece)?.bytes ?? piece
    }
    return 0
}
