import HealthExports
import HubClient
import RecordDatabase

/// Receives the records of an export, in order.
protocol ExportOutput {
    mutating func begin() throws
    mutating func write(_ items: [ExportItem]) throws
    mutating func end() throws
    var account: ExportSummary { get }
}

/// An output format that is written as a stream.
struct WrittenOutput<Writer: ExportWriter>: ExportOutput {
    private var writer: Writer
    private let target: ExportTarget

    init(_ writer: Writer, _ target: ExportTarget) { (self.writer, self.target) = (writer, target) }

    var account: ExportSummary { writer.account }
    mutating func begin() throws { try target.write { writer.begin(&$0) } }
    mutating func write(_ items: [ExportItem]) throws {
        try target.write { output in for item in items { writer.write(item, to: &output) } }
    }
    mutating func end() throws { try target.write { writer.end(&$0) } }
}

/// A database that a library writes into the draft file.
struct DatabaseOutput: ExportOutput {
    private let database: RecordDatabase

    /// - Parameter zones: the zones of persons, by name.
    init(_ target: ExportTarget, zones: [String: String]) throws {
        guard let draft = target.draft else { throw Failure(.usage, "sqlite needs a path: a database is a file") }
        database = try DatabaseOutput.translated { try RecordDatabase(draft, zones: zones) }
    }

    var account: ExportSummary { database.account }
    func begin() throws {}
    func write(_ items: [ExportItem]) throws { try DatabaseOutput.translated { try database.write(items) } }
    func end() throws { try DatabaseOutput.translated { try database.finish() } }

    private static func translated<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try body() } catch let error as RecordDatabase.SQLiteError {
            throw Failure(.system, error.description)
        }
    }
}
