import Platform

/// Unpacks one gzip member piece by piece, and refuses data after it.
struct GzipReader: ~Copyable {
    private let bytes: [UInt8]
    private let inflater = Inflater(.gzip)
    private var taken = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Reads exactly `count` bytes; fewer only at the end.
    mutating func read(_ count: Int) throws(PluginError) -> [UInt8] {
        var (piece, filled) = ([UInt8](repeating: 0, count: count), 0)
        while filled < count, inflater.progress == .goesOn {
            let (input, given) = bytes.withUnsafeBytes { source in
                piece.withUnsafeMutableBytes { target in
                    inflater.inflate(
                        UnsafeRawBufferPointer(rebasing: source[taken...]),
                        into: UnsafeMutableRawBufferPointer(rebasing: target[filled...]))
                }
            }
            (taken, filled) = (taken + input, filled + given)
            switch inflater.progress {
            case .goesOn:
                guard input > 0 || given > 0 else {
                    throw PluginError("it ends in the middle: it was not copied or downloaded whole")
                }
            case .ended:
                guard taken == bytes.count else {
                    throw PluginError(
                        "\(bytes.count - taken) bytes come after its end: it is not a pack as it was made")
                }
            case .damaged: throw PluginError("it is not a pack, or is damaged: its gzip data cannot be read")
            }
        }
        return Array(piece.prefix(filled))
    }
}
