import JSON
import Samples

/// Reads a body of HC Webhook array by array, a thousand elements at a time.
struct WebhookSteps: PayloadSteps {
    private let bytes: UnsafeRawBufferPointer
    private let context: PhoneContext
    /// The time at which the phone made the body, in microseconds.
    private let made: Int64
    private var arrays: [(name: String, value: JSONValue)] = []
    private var position = 0
    private var cursor: ArrayCursor?
    private var form = WebhookArray.Form.samples

    /// - Throws: ``PhoneError`` if the body is not an object with `timestamp`.
    init(_ root: JSONValue, _ bytes: UnsafeRawBufferPointer, _ context: PhoneContext) throws(PhoneError) {
        (self.bytes, self.context) = (bytes, context)
        let members = try Members(body: root, with: "timestamp", in: bytes)
        guard let made = members.time("timestamp") else {
            throw PhoneError(.form, "timestamp is missing, or cannot be read")
        }
        self.made = made.microseconds
        for member in members.all {
            let name = JSONText.string(member.name, in: bytes) ?? ""
            guard name != "timestamp", name != "app_version", member.value.kind != .null else { continue }
            arrays.append((name, member.value))
        }
    }

    mutating func next() -> PhoneBatch? {
        guard position < arrays.count else { return nil }
        var batch = PhoneBatch()
        while position < arrays.count, batch.size < PhoneBody.batchRecords {
            let (name, value) = arrays[position]
            guard let kind = WebhookArray.Kind(name) else {
                UnknownElementStore(bytes, context, account: "health-connect", type: "x.hc.unread").keep(
                    name, value, at: "/\(name.pointerText)", "key not known", &batch)
                position += 1
                continue
            }
            guard value.kind == .array else {
                batch.received += 1
                batch.reject("/\(name)", "json", "an array is expected")
                position += 1
                continue
            }
            let isFirst = cursor == nil
            var elements = cursor ?? ArrayCursor(value, in: bytes)
            if isFirst { form = WebhookArray.form(of: value, bytes, context) }
            let array = WebhookArray(name: name, kind: kind, bytes: bytes, context: context, made: made, form: form)
            var isOver = false
            while batch.size < PhoneBody.batchRecords {
                guard let element = elements.next() else {
                    isOver = true
                    break
                }
                batch.received += 1
                array.read(element, elements.count - 1, &batch)
            }
            cursor = isOver ? nil : elements
            if isOver { position += 1 }
        }
        return batch
    }
}
