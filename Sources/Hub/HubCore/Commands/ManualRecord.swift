import FoundationEssentials
import HubStore
import HubWire
import Samples

/// A record from the arguments of a person's command, checked by the codec that also checks records of sources.
struct ManualRecord {
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

    /// Takes a value; at most one of number and name may be given.
    mutating func take(value: Double?, unit: String?, name: String?) throws {
        guard value == nil || name == nil else {
            throw OwnCommandFailure(problems: ["name: give value or name, not both"])
        }
        members.value = value.map(Members.Value.number) ?? name.map(Members.Value.text)
        members.unit = unit
    }

    mutating func join(group: String) { members.group = group }

    /// Sets the seconds of a workout without its pauses.
    mutating func last(seconds: Double) { members.workout = Members.Workout(duration: seconds) }

    /// The record, with its value converted to the type's own unit.
    ///
    /// - Parameter isPart: whether it is a change of a stored record, whose metadata was checked when it came.
    /// - Throws: a command's failure with the code of the rejection (Protocol §9.2).
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
                throw OwnCommandFailure("json", "the arguments make no record")
            }
            return (sample, try RecordValidation(registry: registry).canonical(of: .sample(sample)))
        } catch let rejection as RecordRejection {
            throw OwnCommandFailure(rejection.code.rawValue, rejection.reason)
        }
    }
}

extension JSONObject {
    /// Adds a person's note to metadata.
    ///
    /// - Throws: `metadata` if the result is larger than a record may have.
    static func noted(_ note: String, in metadata: JSONObject?, more: [(name: String, value: RawJSON)] = []) throws
        -> JSONObject
    {
        let before = RawJSON(trusted: Array((metadata?.text ?? "{}").utf8))
        let after = before.setting(more + [("note", .string(note))])
        guard let object = (after?.text).flatMap({ JSONObject($0) }) else {
            throw OwnCommandFailure(
                "metadata", "note: the record's metadata would exceed \(JSONObject.maximumBytes) bytes")
        }
        return object
    }
}
