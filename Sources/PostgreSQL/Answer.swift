/// What a statement gave.
public struct Answer: Hashable, Sendable {
    /// Names of columns, in their order.
    public var columns: [String] = []
    /// Values as texts in their order; `nil` for null.
    public var rows: [[String?]] = []
    /// What the server did, such as `COMMIT`, `ROLLBACK` or `SELECT 1`.
    public var tag = ""
    /// What it said beside.
    public var notices: [Notice] = []

    /// The value of the first row under a column; `nil` where it is null, or there is no such row or column.
    public subscript(_ column: String) -> String? {
        guard let index = columns.firstIndex(of: column) else { return nil }
        return rows.first?[index]
    }
}

/// A warning or a notice of the server.
public struct Notice: Hashable, Sendable, CustomStringConvertible {
    /// SQLSTATE; `01000` of a warning without a code of its own.
    public var code: String
    /// The server's sentence.
    public var message: String

    public var description: String { "\(code) \(message)" }
}

/// How a COMMIT ended.
public enum Commit: Hashable, Sendable {
    /// It holds, as far as this server's settings go.
    case done
    /// The server warned: what was written need not be on any other host.
    case doubtful([Notice])
    /// It was rolled back instead, because a statement before had failed.
    case rolledBack
}
