import Foundation
import HealthText
import JSON
import NIOCore
import PluginKit

/// The live value of a device as an event: the hub's members, and the value as people read it.
struct PassingValue {
    let type: String
    /// Nil while the person is unknown.
    let person: String?
    let bytes: ByteBuffer

    /// - Returns: nil if the message is not a live value.
    init?(_ message: FeedMessage, _ persons: [Welcome.PersonEntry]) {
        let segments = message.topic.segments
        guard segments.count == 4, let body = JSONTree(message.body), var members = body.members else { return nil }
        type = segments[1]
        let name = body["person"]?.text
        person = name
        // Use one name for the type in all events, whatever the device calls it.
        members.removeAll { $0.name == "type" || $0.name == "text" || $0.name == "person" && name == nil }
        members.insert(.init("type", .text(type)), at: 0)
        if let value = body["value"]?.double, let id = try? TypeID(type) {
            let reader = persons.first { $0.name == name }?.reader ?? DisplayPreferences()
            let unit = body["unit"]?.text ?? TypeRegistry.standard.type(id)?.unit ?? ""
            members.append(.init("text", .text(reader.format(unit, of: id).text(value))))
        }
        bytes = EventText.event("live", data: JSONTree.object(members).bytes)
    }
}
