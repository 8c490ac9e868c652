/// A fault that affects requests, written as `NAME[=VALUE][@PATH][%PERCENT][*TIMES]`.
///
/// `cut-after@update*1` cuts the connection once, after a request with `update` in its path was carried out. Without PATH a fault affects every
/// request of the service, without PERCENT every time, and without TIMES indefinitely.
public struct Fault: Hashable, Sendable, CustomStringConvertible {
    public enum Kind: Hashable, Sendable {
        /// The answer begins after this number of real seconds.
        case delay(Double)
        /// The connection is cut before the request is carried out.
        case cutBefore
        /// The request is carried out, and the connection cut instead of an answer.
        case cutAfter
        /// The connection is cut in the middle of the answer.
        case cutInside
        /// The request is not carried out; the answer has this status and an empty body.
        case status(Int)
        /// The request is not carried out: status 429, with `Retry-After` unless that is `nil`.
        case tooMany(retryAfter: Int?)
        /// The request is not carried out: status 502 and an HTML page, as from a proxy in front of the service.
        case html
        /// The answer is valid HTTP, but contains only the first half of its JSON.
        case half
        /// A fault that only the service itself can interpret.
        case form(String)
    }

    public var kind: Kind
    /// A part of the path; empty for every path.
    public var path: String
    public var percent: Double
    /// The remaining repetitions; `nil` for no limit.
    public var times: Int?

    /// The name and meaning of the faults that every stand-in can produce.
    public static let known: [(name: String, help: String)] = [
        ("delay=S", "the answer begins S seconds later, in real time"),
        ("cut-before", "the connection is cut, and nothing was done"),
        ("cut-after", "the request is done, and the connection cut instead of an answer"),
        ("cut-inside", "the connection is cut in the middle of the answer"),
        ("status=N", "nothing is done; status N, with an empty body"),
        ("too-many[=S]", "nothing is done; 429, with Retry-After: S if S is given"),
        ("html", "nothing is done; 502 with a page for people, as of a proxy"),
        ("half", "done, but the JSON of the answer ends in the middle"),
    ]

    /// - Parameter forms: names of faults that only the service can produce.
    /// - Throws: ``WebFaultsError`` with the expected form.
    public init(_ text: String, forms: [String] = []) throws(WebFaultsError) {
        var rest = text[...]
        (percent, times, path) = (100, nil, "")
        if let star = rest.lastIndex(of: "*") {
            guard let count = Int(rest[rest.index(after: star)...]), count > 0 else {
                throw WebFaultsError("fault '\(text)': after * expected how often, a whole number from 1")
            }
            (times, rest) = (count, rest[..<star])
        }
        if let sign = rest.lastIndex(of: "%") {
            guard let share = Double(rest[rest.index(after: sign)...]), (0...100).contains(share) else {
                throw WebFaultsError("fault '\(text)': after % expected a share, 0 to 100")
            }
            (percent, rest) = (share, rest[..<sign])
        }
        if let at = rest.firstIndex(of: "@") {
            path = String(rest[rest.index(after: at)...])
            rest = rest[..<at]
        }
        let sides = rest.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let name = sides[0]
        guard let kind = Self.kind(name, sides.count > 1 ? sides[1] : nil, forms) else {
            let names = (Self.known.map(\.name) + forms).joined(separator: ", ")
            throw WebFaultsError(
                "fault '\(text)': expected one of \(names), then @PATH, %PERCENT and *TIMES as you like")
        }
        self.kind = kind
    }

    private static func kind(_ name: String, _ value: String?, _ forms: [String]) -> Kind? {
        switch (name, value) {
        case ("delay", let value?): Double(value).flatMap { (0...3_600).contains($0) ? .delay($0) : nil }
        case ("cut-before", nil): .cutBefore
        case ("cut-after", nil): .cutAfter
        case ("cut-inside", nil): .cutInside
        case ("status", let value?): Int(value).flatMap { (400...599).contains($0) ? .status($0) : nil }
        case ("too-many", nil): .tooMany(retryAfter: nil)
        case ("too-many", let value?): Int(value).flatMap { $0 >= 0 ? .tooMany(retryAfter: $0) : nil }
        case ("html", nil): .html
        case ("half", nil): .half
        case (let name, nil) where forms.contains(name): .form(name)
        default: nil
        }
    }

    private var name: String {
        switch kind {
        case .delay(let seconds): "delay=\(seconds)"
        case .cutBefore: "cut-before"
        case .cutAfter: "cut-after"
        case .cutInside: "cut-inside"
        case .status(let status): "status=\(status)"
        case .tooMany(nil): "too-many"
        case .tooMany(let seconds?): "too-many=\(seconds)"
        case .html: "html"
        case .half: "half"
        case .form(let name): name
        }
    }

    /// The text in the form that ``init(_:forms:)`` parses.
    public var description: String {
        name + (path.isEmpty ? "" : "@\(path)") + (percent == 100 ? "" : "%\(percent)")
            + (times.map { "*\($0)" } ?? "")
    }
}
