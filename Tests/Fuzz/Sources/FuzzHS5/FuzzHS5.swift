import ScaleProtocols
import ScaleStandIns
import Sessions

/// One input of libFuzzer: bytes as both sides of a session with a HS5.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    play(bytes(start, count), HS5Host(), HS5Device()) { piece, origin in
        guard piece.count >= 3, let id = HS5SenderID([2, 0, 0, 0, 0, origin == .host ? 1 : 0x50]) else { return piece }
        return HS5Datagram.bytes(
            from: origin, piece[0], Array(piece.dropFirst(2)), sequence: piece[1], isAnswer: piece[0] & 1 == 1,
            sender: id) ?? piece
    }
    return 0
}
