import JSON

/// JSON for tests: missing members and elements read as `null`, and comparison ignores the order of members.
struct JSON: Equatable, Sendable, CustomStringConvertible {
    private let tree: JSONTree

    static let null = JSON(tree: .null)

    private init(tree: JSONTree) { self.tree = tree }

    /// Parses JSON, or reads invalid JSON as `null`.
    init(_ bytes: [UInt8]) { tree = JSONTree(bytes) ?? .null }
    init(_ text: String) { self.init(Array(text.utf8)) }

    subscript(name: String) -> JSON { JSON(tree: tree[name] ?? .null) }
    subscript(index: Int) -> JSON { array.indices.contains(index) ? array[index] : .null }

    var description: String { tree.json }
    var string: String? { tree.text }
    var double: Double? { tree.double }
    var int: Int64? { double.flatMap { Int64(exactly: $0) } }
    var truth: Bool? { tree.truth }
    var array: [JSON] { (tree.list ?? []).map { JSON(tree: $0) } }
    var names: Set<String> { Set((tree.members ?? []).map(\.name)) }

    /// Whether this matches `pattern`, in which `*` stands for any value.
    ///
    /// Members that `pattern` does not name are ignored.
    func fits(_ pattern: JSON) -> Bool {
        if pattern.string == "*" { return true }
        return agrees(with: pattern, names: { $0.isSuperset(of: $1) }, by: { $0.fits($1) })
    }

    func fits(_ pattern: String) -> Bool { fits(JSON(pattern)) }

    static func == (left: JSON, right: JSON) -> Bool { left.agrees(with: right, names: ==, by: ==) }

    private func agrees(
        with other: JSON, names agree: (Set<String>, Set<String>) -> Bool, by fit: (JSON, JSON) -> Bool
    ) -> Bool {
        switch (tree, other.tree) {
        case (.object, .object): agree(names, other.names) && other.names.allSatisfy { fit(self[$0], other[$0]) }
        case (.list(let elements), .list(let others)):
            elements.count == others.count && zip(array, other.array).allSatisfy(fit)
        case (.number, .number): double == other.double
        default: tree == other.tree
        }
    }
}
