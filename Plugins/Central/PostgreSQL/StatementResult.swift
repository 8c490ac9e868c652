/// The result of a statement.
public struct StatementResult: Hashable, Sendable {
    /// Names of columns, in order.
    public var columns: [String] = []
    /// Values as texts, in order; `nil` for null.
    public var rows: [[String?]] = []
    /// The server's command tag, such as `COMMIT`, `ROLLBACK` or `SELECT 1`.
    public var tag = ""
    /// The server's notices.
    public var notices: [Notice] = []

    /// The first row's value in a column; `nil` if it is null, or if the row or column does not exist.
    public subscript(_ column: String) -> String? {
        guard let index = columns.firstIndex(of: column) else { return nil }
        return rows.first?[index]
    }
}

/// A warning or notice of the server.
public struct Notice: Hashable, Sendable, CustomStringConvertible {
    /// SQLSTATE; `01000` for a warning without a code.
    public var code: String
    /// The server's message.
    public var message: String

    public var description: String { "\(code) \(message)" }
}

/// The outcome of a COMMIT.
public enum Commit: Hashable, Sendable {
    /// The transaction is durable, as far as the server's settings guarantee.
    case done
    /// The server warned that the data may not be on any other host.
    case doubtful([Notice])
    /// The transaction was rolled back, because an earlier statement had failed.
    case rolledBack
}
