import Glibc

/// Reads the plain LIVE bodies of one session.
///
/// The bodies differ only in the number: a part around it that equals the previous body is not parsed again.
public struct PlainLiveReader: Sendable {
    /// A plain body that was parsed completely.
    private var model: [UInt8] = []
    private var (type, value): (Range<Int>, Range<Int>) = (0..<0, 0..<0)
    private var unit: Range<Int>?

    public init() {}

    /// Reads a body as ``PlainLive/init(_:)`` does.
    public mutating func read(_ body: UnsafeRawBufferPointer) -> PlainLive? {
        if let live = matchingModel(body) { return live }
        guard let live = PlainLive(body) else { return nil }
        if let found = live.value, let start = body.baseAddress, body.count <= Self.longestModel {
            func place(_ part: UnsafeRawBufferPointer) -> Range<Int> {
                let first = part.baseAddress.map { $0 - start } ?? 0
                return first..<(first + part.count)
            }
            model.removeAll(keepingCapacity: true)
            model.append(contentsOf: body)
            value = found
            (type, unit) = (place(live.type), live.unit.map(place))
        }
        return live
    }

    /// Maximum size of the body kept for a session.
    private static let longestModel = 1_024

    /// The body, if it equals the model except for the number.
    private func matchingModel(_ body: UnsafeRawBufferPointer) -> PlainLive? {
        let grown = body.count - model.count
        guard !model.isEmpty, (1...Self.longestNumber).contains(value.count + grown) else { return nil }
        let value = value.lowerBound..<(value.upperBound + grown)
        let isAlike = model.withUnsafeBytes { model in
            UnsafeRawBufferPointer(rebasing: body[..<value.lowerBound])
                .isSame(as: UnsafeRawBufferPointer(rebasing: model[..<value.lowerBound]))
                && UnsafeRawBufferPointer(rebasing: body[value.upperBound...])
                    .isSame(as: UnsafeRawBufferPointer(rebasing: model[self.value.upperBound...]))
        }
        guard isAlike, Self.isNumber(body, value) else { return nil }
        func shifted(_ part: Range<Int>) -> Range<Int> {
            let shift = part.lowerBound > self.value.lowerBound ? grown : 0
            return (part.lowerBound + shift)..<(part.upperBound + shift)
        }
        return PlainLive(body, type: shifted(type), unit: unit.map(shifted), value: value)
    }

    /// A number of at most this length without exponent always fits a double.
    private static let longestNumber = 16

    /// Whether the range is exactly a JSON number without exponent.
    private static func isNumber(_ body: UnsafeRawBufferPointer, _ place: Range<Int>) -> Bool {
        var position = place.lowerBound
        func digits() -> Int {
            let first = position
            while position < place.upperBound, body[position] &- 0x30 <= 9 { position += 1 }
            return position - first
        }
        if body[position] == UInt8(ascii: "-") { position += 1 }
        let start = position
        let whole = digits()
        guard whole == 1 || whole > 1 && body[start] != UInt8(ascii: "0") else { return false }
        guard position < place.upperBound else { return true }
        guard body[position] == UInt8(ascii: ".") else { return false }
        position += 1
        return digits() > 0 && position == place.upperBound
    }
}

extension UnsafeRawBufferPointer {
    /// Whether both hold the same bytes.
    package func isSame(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard let left = baseAddress, let right = other.baseAddress else { return true }
        return memcmp(left, right, count) == 0
    }
}
