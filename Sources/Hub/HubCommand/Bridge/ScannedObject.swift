import HubWire
import JSON

/// The members of an object, as places in its bytes.
struct ScannedObject {
    private let bytes: UnsafeRawBufferPointer
    private let value: JSONValue
    private var members: [(name: String?, value: JSONValue)] = []

    init(_ bytes: UnsafeRawBufferPointer) throws(JSONSyntaxError) {
        self.bytes = bytes
        var scanner = try JSONScanner(bytes)
        scanner.skipSpace()
        value = try scanner.value()
        try scanner.finish()
        guard value.kind == .object else { return }
        scanner = JSONScanner(bytes, within: value)
        _ = scanner.take(UInt8(ascii: "{"))
        scanner.skipSpace()
        guard scanner.next != UInt8(ascii: "}") else { return }
        repeat {
            scanner.skipSpace()
            let name = try scanner.name()
            members.append((JSONText.string(name, in: bytes), try scanner.value()))
            scanner.skipSpace()
        } while scanner.take(UInt8(ascii: ","))
    }

    var isObject: Bool { value.kind == .object }
    var found: String { value.kind.description }
    var whole: RawJSON { RawJSON(trusted: Array(bytes[value.start..<value.end])) }

    private func member(_ name: String) -> JSONValue? { members.last { $0.name == name }?.value }
    func has(_ name: String) -> Bool { member(name) != nil }
    func raw(_ name: String) -> RawJSON {
        member(name).map { RawJSON(trusted: Array(bytes[$0.start..<$0.end])) } ?? .emptyObject
    }

    func text(_ name: String) -> String? {
        guard let value = member(name), value.kind == .string else { return nil }
        return JSONText.string(value, in: bytes)
    }

    func integer(_ name: String) -> Int64? {
        guard let value = member(name), value.kind == .number else { return nil }
        return NumberReader.integer(value, in: bytes)
    }

    func record(line: Int, item: Int?) -> BridgeRecord {
        BridgeRecord(bytes: whole.bytes, line: line, item: item, key: text("key"), group: text("group"))
    }
}
