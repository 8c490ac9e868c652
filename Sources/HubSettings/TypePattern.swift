/// A type of a grant: an id, `*` for all, or `x.<vendor>.*` for all of them that a plugin declares.
public struct TypePattern: Hashable {
    private let text: String

    public init(_ text: String) { self.text = text }

    /// Whether it means types that are only known when they are declared.
    public var isOfVendor: Bool {
        text.hasPrefix("x.") && text.hasSuffix(".*") && text.split(separator: ".").count >= 3
    }

    /// Whether an id, or another pattern, is within it.
    public func covers(_ other: String) -> Bool {
        text == "*" || text == other || isOfVendor && other.count >= text.count && other.hasPrefix(text.dropLast())
    }
}
