/// How fast what a plugin prints is read: a burst at once, then so much a second.
///
/// Who prints more waits for its pipe: reading and searching it all would cost everybody else the processor.
struct ByteAllowance {
    private let burst: Double
    private let rate: Double
    private var left: Double
    private var filledAt: Int64

    /// - Parameters:
    ///   - rate: bytes a second.
    ///   - now: monotonic milliseconds.
    init(burst: Int = 4 << 20, rate: Int = 1 << 20, now: Int64) {
        (self.burst, self.rate, left, filledAt) = (Double(burst), Double(rate), Double(burst), now)
    }

    /// Takes `bytes` and says how many milliseconds to wait before the next are read.
    mutating func take(_ bytes: Int, at now: Int64) -> Int64 {
        left = min(burst, left + Double(max(0, now - filledAt)) / 1_000 * rate) - Double(bytes)
        filledAt = max(filledAt, now)
        return left >= 0 ? 0 : Int64((-left / rate * 1_000).rounded(.up))
    }
}
