import JSON
import Samples

/// JSON Lines: one record per line, in the hub's own JSON.
///
/// By default the export omits members that are specific to one hub, such as its record numbers. Two hubs with the same records then export the
/// same bytes.
public struct JSONLinesExport: ExportWriter {
    public private(set) var account = ExportSummary()
    private let keepsNumbers: Bool

    /// Members that are meaningless to another hub: its own numbers, and its reason why a record has no person.
    ///
    /// A person marks a record as a guest's, so `unassigned` is kept in that case.
    public static let ownMembers: Set<String> = ["personId", "unassigned", "number", "seq"]

    /// - Parameter keepsNumbers: whether to keep the members that are specific to this hub.
    public init(keepsNumbers: Bool = false) { self.keepsNumbers = keepsNumbers }

    public mutating func write(_ item: ExportItem, to output: inout [UInt8]) {
        if keepsNumbers {
            output.append(contentsOf: item.json)
        } else {
            JSONLinesExport.append(item.json, without: JSONLinesExport.ownMembers, to: &output)
        }
        output.append(UInt8(ascii: "\n"))
        account.written += 1
    }

    private static func isGuest(_ name: String, _ value: JSONValue, _ bytes: UnsafeRawBufferPointer) -> Bool {
        name == "unassigned" && JSONText.string(value, in: bytes).map(Assignment.nobody(reason:)) == .guest
    }

    /// Appends an object without some of its members and copies all others unchanged.
    ///
    /// `mirrors` is replaced by `true`.
    static func append(_ json: [UInt8], without names: Set<String>, to output: inout [UInt8]) {
        let start = output.count
        let isRead: Bool = json.withUnsafeBytes { bytes in
            guard var scanner = try? JSONScanner(bytes), scanner.take(UInt8(ascii: "{")) else { return false }
            output.append(UInt8(ascii: "{"))
            repeat {
                guard let name = try? scanner.name(), let value = try? scanner.value() else { return false }
                if let text = JSONText.string(name, in: bytes), names.contains(text), !isGuest(text, value, bytes) {
                    continue
                }
                if output.count > start + 1 { output.append(UInt8(ascii: ",")) }
                if JSONText.string(name, in: bytes) == "mirrors" {
                    output.append(contentsOf: Array(#""mirrors":true"#.utf8))
                    continue
                }
                output.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[name.start..<value.end]))
            } while scanner.take(UInt8(ascii: ","))
            output.append(UInt8(ascii: "}"))
            return true
        }
        // The hub printed the record, so it is an object without white space.
        precondition(isRead, "a record of the hub is not a JSON object")
    }
}
