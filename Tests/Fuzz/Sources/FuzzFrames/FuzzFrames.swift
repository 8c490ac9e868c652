import ScaleProtocols

/// One input of libFuzzer: a stream of bytes must have the same frames when it is cut in two ways.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let first = bytes.first else { return 0 }
    // Only the scanner of one layout and direction: all of them for each input would be six times as slow and find the same errors.
    let origin = first & 32 == 0 ? FrameOrigin.host : .scale
    let scanner =
        switch first >> 6 {
        case 0: FrameScanner(from: origin)
        case 1: FrameScanner(from: origin, product: 0xA6, productPlace: 2)
        case 2: FrameScanner(from: origin, product: 0xA9, productPlace: 2)
        default: FrameScanner(from: origin, product: 0xA6)
        }
    check(Array(bytes.dropFirst()), scanner, step: Int(first & 31) + 1)
    if let frame = FamilyFrame(datagram: bytes) {
        precondition(bytes.starts(with: frame.bytes), "a datagram changes when it is written and read again")
    }
    return 0
}

private func check(_ bytes: [UInt8], _ scanner: FrameScanner, step: Int) {
    var (whole, pieces) = (scanner, scanner)
    var frames = whole.append(bytes)
    var others: [Frame] = []
    for start in stride(from: 0, to: bytes.count, by: step) {
        others += pieces.append(bytes[start..<min(start + step, bytes.count)])
    }
    frames += whole.flush()
    others += pieces.flush()
    precondition(
        frames == others && whole.skippedBytes == pieces.skippedBytes, "the frames depend on how the bytes are cut")
    precondition(!whole.isInsideFrame && whole.badChecksums == pieces.badChecksums)
    var collector = FragmentCollector()
    for frame in frames {
        precondition(frame.bytes.count == frame.body.count + 3)
        guard let family = FamilyFrame(frame) else { continue }
        precondition(family.bytes == frame.bytes, "a frame changes when it is written and read again")
        _ = collector.append(family)
    }
}
