public import ScaleProtocols

/// The content of a frame from the host.
public enum HS3HostMessage: Sendable, Hashable {
    case acknowledge
    case open
    case setClock(WallTime)
    case lastKnown(WallTime)
    case startMemory
    /// A command that the scale does not know, or data that is not a valid time.
    case unknown

    /// Reads a frame.
    ///
    /// It never fails: content that cannot be understood becomes `unknown`.
    public init(_ frame: HS3Frame) {
        switch HS3Command(rawValue: frame.command) {
        case .acknowledge: self = .acknowledge
        case .open: self = .open
        case .setClock: self = WallTime(hs3Binary: frame.data).map { .setClock($0) } ?? .unknown
        case .lastKnown: self = WallTime(hs3Binary: frame.data).map { .lastKnown($0) } ?? .unknown
        case .startMemory: self = .startMemory
        case .memory, .error, .memoryCount, .weight, .idBlock, .clock, nil: self = .unknown
        }
    }
}
