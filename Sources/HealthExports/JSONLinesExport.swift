import JSON
import Samples

/// JSON Lines: each record as the hub has it, on a line.
///
/// Usually without what only one hub can say, such as its number of the record: then the same records make the same bytes, whatever hub
/// they come from.
public struct JSONLinesExport: ExportWriter {
    public private(set) var account = ExportAccount()
    private let keepsNumbers: Bool

    /// Members of which another hub knows nothing: its own numbers, and why it did not know whose a record is.
    ///
    /// That it is a guest's, a person has said: `unassigned` stays then.
    public static let ownMembers: Set<String> = ["personId", "unassigned", "number", "seq"]

    /// - Parameter keepsNumbers: whether the hub's own members stay.
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

    /// Appends an object without some of its members, all else byte for byte; for which records are its mirrors, that it has some.
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
        // The hub has printed it: it is an object without white space.
        precondition(isRead, "a record of the hub is not a JSON object")
    }
}
