package import HubWire
import JSON

/// A record for the hub, with the bytes that the program wrote.
package struct BridgeRecord: Hashable, Sendable {
    package let bytes: [UInt8]
    /// The number of the line; `item` is the place in the line, from 1, if the line is a list.
    package let line: Int
    package let item: Int?
    package let key: String?
    package let group: String?

    /// Reads the key of a record whose line is not known any more.
    package static func key(of bytes: [UInt8]) -> String? {
        bytes.withUnsafeBytes { bytes in
            guard let object = try? ScannedObject(bytes) else { return nil }
            return object.text("key")
        }
    }
}

/// The parsed form of a line of a program (Docs/Clients.md, *Any language*).
package enum BridgeLine: Sendable {
    /// White space only: it ends a group of records.
    case nothing
    case records([BridgeRecord], isList: Bool)
    /// LIVE or EVENT.
    case passing(ClientMessage)
    /// An answer or a question, with the member that names it.
    case other(String, RawJSON)
    case fault(String)

    /// The members that name a line which is not a record, in the order of precedence.
    package static let verbs = ["live", "event", "delivery", "command", "query", "token", "tokenPut"]

    package init(_ line: LineReader.Line) {
        guard !line.isTooLong else {
            self = .fault(
                "line \(line.number) is longer than \(LineReader.longest) bytes; it was passed over: "
                    + "a record has 65536 bytes at most")
            return
        }
        guard let first = line.bytes.first(where: { $0 != 0x20 && $0 != 0x09 }) else {
            self = .nothing
            return
        }
        self = line.bytes.withUnsafeBytes { bytes in
            do throws(JSONSyntaxError) {
                return first == UInt8(ascii: "[") ? try Self.list(bytes, line) : try Self.object(bytes, line)
            } catch {
                return .fault(
                    "line \(line.number) is not JSON: at byte \(error.offset + 1) \(error.reason); "
                        + "write one record a line, as jq -c does")
            }
        }
    }

    private static func object(
        _ bytes: UnsafeRawBufferPointer, _ line: LineReader.Line
    ) throws(JSONSyntaxError) -> BridgeLine {
        let object = try ScannedObject(bytes)
        guard object.isObject else {
            return .fault("line \(line.number) is \(object.found); a line is a record, or a list of records")
        }
        // A record may have members of any name; the other lines have no type.
        if object.has("type") || object.has("kind") {
            return .records([object.record(line: line.number, item: nil)], isList: false)
        }
        guard let verb = verbs.first(where: object.has) else {
            return .fault(
                "line \(line.number) has no type: a record has type, value, unit, start and key "
                    + "(Docs/Samples.md); Docs/Clients.md has the other lines")
        }
        do throws(WireError) {
            switch verb {
            case "live": return .passing(try ClientMessage(verb: .live, body: object.raw(verb)))
            case "event": return .passing(try ClientMessage(verb: .event, body: object.raw(verb)))
            default: return .other(verb, object.whole)
            }
        } catch { return .fault("line \(line.number): \(error.reason)") }
    }

    private static func list(
        _ bytes: UnsafeRawBufferPointer, _ line: LineReader.Line
    ) throws(JSONSyntaxError) -> BridgeLine {
        var scanner = try JSONScanner(bytes)
        scanner.skipSpace()
        _ = scanner.take(UInt8(ascii: "["))
        scanner.skipSpace()
        var records: [BridgeRecord] = []
        var fault: String?
        if !scanner.take(UInt8(ascii: "]")) {
            repeat {
                scanner.skipSpace()
                let value = try scanner.value()
                let object = try ScannedObject(UnsafeRawBufferPointer(rebasing: bytes[value.start..<value.end]))
                if object.isObject {
                    records.append(object.record(line: line.number, item: records.count + 1))
                } else {
                    fault = fault ?? "line \(line.number) has \(object.found) in its list; a list is of records"
                }
                scanner.skipSpace()
            } while scanner.take(UInt8(ascii: ","))
            try scanner.expect(UInt8(ascii: "]"))
        }
        try scanner.finish()
        if let fault { return .fault(fault) }
        return records.isEmpty ? .fault("line \(line.number) is an empty list") : .records(records, isList: true)
    }
}

extension ClientMessage {
    init(verb: Verb, body: RawJSON) throws(WireError) {
        let message: Result<ClientMessage, WireError> = body.bytes.withUnsafeBytes { bytes in
            do throws(WireError) { return .success(try ClientMessage(verb: verb, body: bytes)) } catch {
                return .failure(error)
            }
        }
        self = try message.get()
    }
}
