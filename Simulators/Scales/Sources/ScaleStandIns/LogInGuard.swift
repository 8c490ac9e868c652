import ScaleProtocols

/// The scale's side of the log-in, for stand-ins that know the key.
struct LogInGuard: Sendable {
    private let key: ScaleKey
    private let challenge: [UInt8]

    /// - Parameter challenge: 48 bytes.
    init(key: ScaleKey, challenge: [UInt8]) { (self.key, self.challenge) = (key, challenge) }

    var question: [UInt8] { challenge }

    func accepts(_ answer: [UInt8]) -> Bool { key.answer(to: challenge) == answer }
}
