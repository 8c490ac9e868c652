import JSON
import Samples

/// Keeps elements that no reader understands: each one whole, as a record of a separate type.
struct UnknownElementStore {
    let bytes: UnsafeRawBufferPointer
    let context: PhoneContext
    let account: String
    let type: String

    init(_ bytes: UnsafeRawBufferPointer, _ context: PhoneContext, account: String, type: String) {
        (self.bytes, self.context, self.account, self.type) = (bytes, context, account, type)
    }

    /// Keeps an array's elements, or the value itself, and reports that.
    ///
    /// - Parameter more: data beside the elements that belongs to each of them, as JSON members.
    func keep(
        _ name: String, _ value: JSONValue, at pointer: String, _ why: String,
        more: [(name: String, text: String)] = [], _ batch: inout PhoneBatch
    ) {
        var points = 0
        if value.kind == .array {
            var cursor = ArrayCursor(value, in: bytes)
            while let element = cursor.next() {
                keep(element, name, at: "\(pointer)/\(cursor.count - 1)", more, &batch)
                points += 1
            }
        } else {
            keep(value, name, at: pointer, more, &batch)
            points = 1
        }
        batch.received += points
        batch.ignore(pointer, why, name: String(name.prefix(256)), points: points)
    }

    /// Keeps one value; reports a value that is too large for a record.
    func keep(
        _ value: JSONValue, _ name: String, at pointer: String, _ more: [(name: String, text: String)] = [],
        _ batch: inout PhoneBatch
    ) {
        let members = Members(value, in: bytes)
        let time = ["date", "start", "start_time", "time", "startTime", "timestamp", "end_time"].lazy
            .compactMap { name in self.time(members, name) }.first
        // Allow twice the size that fits, because white space is removed.
        guard value.end - value.start <= 2 * JSONObject.maximumBytes, let text = value.sorted(in: bytes) else {
            return batch.reject(pointer, "size", "too large to be kept as it is")
        }
        var writer = MetadataWriter()
        writer.add("name", text: String(name.prefix(1_024)))
        for (name, text) in more { writer.add(name, text: String(text.prefix(1_024))) }
        // An element without a time is identified only by its content. A time chosen here would turn each repeat into a new version.
        writer.add("timeUnknown", truth: time == nil ? true : nil)
        writer.add("item", json: text)
        let start = time ?? Timestamp(microseconds: 0)
        let hash = PhoneKeys.hash(name, text)
        let key = time.map { "\(PhoneTime.key($0.microseconds)) unread \(hash)" } ?? "unread \(hash)"
        guard let metadata = writer.text.flatMap({ JSONObject($0) }), let key = RecordKey(key),
            let type = try? TypeID(type)
        else {
            return batch.reject(pointer, "size", "too large, or nested too deep, to be kept as it is")
        }
        let sample = Sample(
            source: context.source(account), key: key, type: type, value: .other(nil), start: start,
            subject: context.subject, metadata: metadata)
        batch.kept.append(PhoneRecord(.sample(sample), .pointer(pointer)))
    }

    private func time(_ members: Members, _ name: String) -> Timestamp? {
        members.all.lazy.filter { JSONText.string($0.name, in: bytes) == name && $0.value.kind == .string }
            .compactMap { JSONText.string($0.value, in: bytes).flatMap(PhoneTime.read) }.first
    }
}

extension JSONValue {
    /// Compact JSON with sorted members, because apps write them in a different order each time.
    func sorted(in bytes: UnsafeRawBufferPointer) -> String? {
        JSONTree(Array(bytes[start..<end]))?.sorted.json
    }
}

extension JSONTree {
    /// The same value with the members of objects sorted by name.
    var sorted: JSONTree {
        switch self {
        case .list(let items): .list(items.map(\.sorted))
        case .object(let members):
            .object(
                members.map { Member($0.name, $0.value.sorted) }
                    .sorted { ($0.name, $0.value.json) < ($1.name, $1.value.json) })
        default: self
        }
    }
}
