import PluginKit

/// One input of libFuzzer: the behaviour of the hub and of the sender, and an HTTP request or a message of a broker.
///
/// Ends the process if an answer breaks a promise of Docs/Phones.md. It must have a permitted status, a limited length and no token. It may
/// report success only if the hub has stored or refused each record of the body, or the answer names it. A repeat must store nothing new.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard count > 3 else { return 0 }
    let input = Input(UnsafeBufferPointer(start: start, count: count))
    loop.run { await scene.play(input) }
    return 0
}

private let loop = Loop()
private let scene = Scene()

/// Three bytes, a head of lines until an empty one, and a body.
struct Input: Sendable {
    enum Hub: Int, CaseIterable {
        case stores, rejectsSome, refusesCalls, refusesGroups, stopsMeanwhile, isStopping, isAway
    }

    var hub: Hub
    var isMessage: Bool
    /// The body is compressed here, because a fuzzer cannot find checksums.
    var isPacked: Bool
    /// The connection is cut at the end of the body.
    var isCut: Bool
    /// The same input comes a second time.
    var isRepeated: Bool
    var isRetained: Bool
    var takesComputed: Bool
    /// The tokens are older than the distinction between the apps of Health Connect.
    var hadTokens: Bool
    /// The number of bytes in a piece of the body.
    var piece: Int
    var lines: [String]
    var body: [UInt8]

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        hub = Hub.allCases[Int(bytes[0]) % Hub.allCases.count]
        let flags = bytes[1]
        (isMessage, isPacked, isCut) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0)
        (isRepeated, isRetained, takesComputed) = (flags & 8 != 0, flags & 16 != 0, flags & 32 != 0)
        hadTokens = flags & 64 != 0
        piece = [4_096, 1, 7, 300][Int(bytes[2]) % 4]
        let rest = bytes[3...]
        var end = rest.startIndex
        while end < rest.endIndex, !(rest[end] == 0x0A && end + 1 < rest.endIndex && rest[end + 1] == 0x0A) { end += 1 }
        lines = String(decoding: rest[..<end], as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
        body = end + 2 <= rest.endIndex ? Array(rest[(end + 2)...]) : []
    }
}
