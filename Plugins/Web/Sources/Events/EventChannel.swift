import JSON
import NIOCore
import PluginKit

/// A record as an event, encoded once for all listeners.
struct RecordEvent: Sendable {
    let sequence: Int64
    let type: String
    let bytes: ByteBuffer

    /// - Parameter json: the record as the hub printed it.
    /// - Throws: ``EventError``.
    init(_ json: ArraySlice<UInt8>, epoch: String) throws {
        guard let tree = JSONTree(Array(json)), let sequence = tree["seq"]?.integer.map(Int64.init),
            let type = tree["type"]?.text
        else { throw EventError() }
        (self.sequence, self.type) = (sequence, type)
        let cursor = Cursor(epoch: epoch, sequence: sequence)
        bytes =
            tree["kind"]?.text == "retraction"
            ? EventText.event("retraction", id: cursor, data: json) : EventText.event("record", id: cursor, data: json)
    }

    /// The hub sent something other than a record.
    struct EventError: Error {}
}

/// The listeners of the same persons, and their recent records.
struct EventChannel {
    /// Distinguishes it from an earlier channel for the same persons.
    let serial: Int
    /// The position up to which records were read.
    private(set) var cursor: Cursor
    var streams: [ObjectIdentifier: EventStream] = [:]
    /// The last records, for listeners that reconnect after a short break.
    private var recent: [RecordEvent] = []
    private var recentBytes = 0
    /// `recent` is complete after this sequence.
    private var start: Int64

    /// At most half of a stream's buffer.
    private static let (maximumEvents, maximumBytes) = (EventStream.maximumEvents / 2, EventStream.maximumBytes / 2)

    init(_ serial: Int, from cursor: Cursor) { (self.serial, self.cursor, start) = (serial, cursor, cursor.sequence) }

    /// Adds a listener that has everything up to a cursor.
    ///
    /// - Returns: false if the listener lacks more than is kept here.
    mutating func join(_ stream: EventStream, at place: Cursor) -> Bool {
        guard place.epoch == cursor.epoch, place.sequence >= start else { return false }
        stream.begin(after: place.sequence)
        streams[ObjectIdentifier(stream)] = stream
        for event in recent where event.sequence > place.sequence { tell(event, stream) }
        return true
    }

    /// Takes records and the position up to which they were read.
    mutating func take(_ events: [RecordEvent], upTo end: Cursor?) {
        for event in events where event.sequence > cursor.sequence {
            cursor.sequence = event.sequence
            for stream in streams.values { tell(event, stream) }
            recent.append(event)
            recentBytes += event.bytes.readableBytes
        }
        if let end, end.sequence > cursor.sequence { cursor.sequence = end.sequence }
        var surplus = 0
        while recent.count - surplus > Self.maximumEvents || recentBytes > Self.maximumBytes, surplus < recent.count {
            (start, recentBytes) = (recent[surplus].sequence, recentBytes - recent[surplus].bytes.readableBytes)
            surplus += 1
        }
        recent.removeFirst(surplus)
    }

    private mutating func tell(_ event: RecordEvent, _ stream: EventStream) {
        guard stream.types?.contains(event.type) ?? true, !stream.send(event.bytes, event.sequence) else { return }
        streams[ObjectIdentifier(stream)] = nil
    }

    /// Sends the position to listeners that receive only some types.
    mutating func mark() {
        let mark = EventText.mark(cursor)
        for (name, stream) in streams where !stream.send(mark, cursor.sequence) { streams[name] = nil }
    }
}
