/// A type of a grant: an id, `*` for all, or `x.<vendor>.*` for all of a vendor's types that a plugin declares.
public struct TypePattern: Hashable {
    private let text: String

    public init(_ text: String) { self.text = text }

    /// Whether it stands for types that are known only once a plugin declares them.
    public var isOfVendor: Bool {
        text.hasPrefix("x.") && text.hasSuffix(".*") && text.split(separator: ".").count >= 3
    }

    /// Whether it includes an id or another pattern.
    public func covers(_ other: String) -> Bool {
        text == "*" || text == other || isOfVendor && other.count >= text.count && other.hasPrefix(text.dropLast())
    }
}
