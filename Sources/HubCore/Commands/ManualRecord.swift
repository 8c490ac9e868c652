import FoundationEssentials
import HubSettings
import HubStore
import HubWire
import Samples

/// A record as a person gives it in a command's arguments, checked by the codec that checks what sources send.
struct ManualRecord {
    /// The arguments that say a value, as `log` and `edit` declare them.
    static let valueArguments = [
        SettingDeclaration("value", .number(), help: "A quantity, in unit."),
        SettingDeclaration("unit", .string(), help: "Any unit of the type's dimension."),
        SettingDeclaration(
            "name", .string(), help: "The value of a category, an activity or a text, in place of value."),
    ]

    private struct Members: Encodable {
        enum Value: Encodable {
            case number(Double), text(String)

            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                switch self {
                case .number(let number): try container.encode(number)
                case .text(let text): try container.encode(text)
                }
            }
        }
        var kind: String?
        var type: String
        var value: Value?
        var unit: String?
        var start, end: String?
        var zone: String?
        var key: String
        var group: String?
        var workout: Workout?

        struct Workout: Encodable {
            var duration: Double
        }
    }
    private var members: Members
    var metadata: JSONObject?

    init(type: String, kind: SampleKind? = nil, start: String, end: String? = nil, zone: String? = nil, key: String) {
        members = Members(kind: kind?.rawValue, type: type, start: start, end: end, zone: zone, key: key)
    }

    /// Takes a value; at most one of number and name.
    mutating func take(value: Double?, unit: String?, name: String?) throws {
        guard value == nil || name == nil else {
            throw CommandFailure(problems: ["name: give value or name, not both"])
        }
        members.value = value.map(Members.Value.number) ?? name.map(Members.Value.text)
        members.unit = unit
    }

    mutating func join(group: String) { members.group = group }

    /// Says how many seconds of a workout's interval were no pause.
    mutating func last(seconds: Double) { members.workout = Members.Workout(duration: seconds) }

    /// The record, with its value in the type's own unit beside it.
    ///
    /// - Parameter isPart: whether it stands for a change of a record whose metadata was judged when it came.
    /// - Throws: a command's failure under the code of the rejection (Protocol §9.2).
    func checked(
        _ registry: TypeRegistry, isPart: Bool = false
    ) throws -> (sample: Sample, canonical: StoredRecord.CanonicalValue?) {
        var decoder = RecordDecoder(plugin: Source.byHand, registry: registry)
        decoder.judgesMetadata = !isPart
        let plain = RawJSON(encoding: members)
        let json =
            metadata.flatMap { plain.setting([("metadata", RawJSON(trusted: Array($0.text.utf8)))]) } ?? plain
        let result = json.bytes.withUnsafeBytes { try? decoder.record($0) }
        do {
            guard let record = try result?.get(), case .sample(let sample) = record else {
                throw CommandFailure("json", "the arguments make no record")
            }
            return (sample, try RecordValidation(registry: registry).canonical(of: .sample(sample)))
        } catch let rejection as RecordRejection {
            throw CommandFailure(rejection.code.rawValue, rejection.reason)
        }
    }
}

extension JSONObject {
    /// Metadata with a person's note, beside what else it says.
    ///
    /// - Throws: `metadata` when that is more than a record may have.
    static func noted(_ note: String, in metadata: JSONObject?, more: [(name: String, value: RawJSON)] = []) throws
        -> JSONObject
    {
        let before = RawJSON(trusted: Array((metadata?.text ?? "{}").utf8))
        let after = before.setting(more + [("note", .string(note))])
        guard let object = (after?.text).flatMap({ JSONObject($0) }) else {
            throw CommandFailure(
                "metadata", "note: the record's metadata would exceed \(JSONObject.maximumBytes) bytes")
        }
        return object
    }
}
