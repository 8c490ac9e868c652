import JSON
import Samples

/// The samples from one place of a body: a single one, or a group.
///
/// Their keys may still get a number.
struct SampleDraft {
    var samples: [Sample]
    var place: PhonePlace
    /// Their common key, before suffixes such as ` s`.
    var base: String
    /// The content that distinguishes drafts with the same key, and orders them.
    var content: String

    init(_ samples: [Sample], base: String, content: String, _ place: PhonePlace) {
        (self.samples, self.base, self.content, self.place) = (samples, base, content, place)
    }
}

/// Numbers different contents with the same key in order of content; equal contents count once.
struct KeyNumbers {
    private var numbers: [String: [String: Int]] = [:]
    private var taken: Set<String> = []

    mutating func note(_ base: String, _ content: String) { numbers[base, default: [:]][content] = 1 }

    /// Assigns the numbers; call it after all calls of `note`.
    mutating func settle() {
        for (base, contents) in numbers where contents.count > 1 {
            for (index, content) in contents.keys.sorted().enumerated() { numbers[base]?[content] = index + 1 }
        }
    }

    /// The number for a key, 1 if the key needs none; `nil` if an equal record has already taken it.
    mutating func take(_ base: String, _ content: String) -> Int? {
        let number = numbers[base]?[content] ?? 1
        return taken.insert("\(base) \(number)").inserted ? number : nil
    }
}

extension PhoneBatch {
    /// Adds drafts in order.
    ///
    /// Drafts with equal keys and contents count once, and different contents of one key are numbered.
    mutating func add(_ drafts: [SampleDraft]) {
        var numbers = KeyNumbers()
        for draft in drafts { numbers.note(draft.base, draft.content) }
        numbers.settle()
        for draft in drafts {
            guard let number = numbers.take(draft.base, draft.content) else {
                ignored.append(PhoneOmission(draft.place, "equal to the point before"))
                continue
            }
            add(draft, number)
        }
    }

    private mutating func add(_ draft: SampleDraft, _ number: Int) {
        let base = number > 1 ? "\(draft.base) \(number)" : draft.base
        var samples = draft.samples
        for index in samples.indices {
            let rest = samples[index].key.text.dropFirst(draft.base.count)
            guard let key = RecordKey(base + rest) else {
                return reject(draft.place, "key", "the key would be too long")
            }
            samples[index].key = key
            if samples[index].group == draft.base { samples[index].group = base }
        }
        records += samples.map { PhoneRecord(.sample($0), draft.place) }
    }
}

/// Creates the samples of one account and one body.
struct SampleMaker {
    let context: PhoneContext
    let account: String

    /// - Parameter raw: the number of a category value.
    func category(
        _ type: TypeID, _ raw: Int, _ key: String, _ start: Timestamp, _ end: Timestamp? = nil, group: String? = nil,
        _ metadata: MetadataWriter = MetadataWriter()
    ) -> Sample? {
        guard let value = TypeRegistry.standard.type(type)?.value(raw: raw) else { return nil }
        return sample(type, .category(name: value.name, raw: Int64(raw)), key, start, end, group: group, metadata)
    }

    func quantity(
        _ type: TypeID, _ value: Double, _ unit: String, _ key: String, _ start: Timestamp, _ end: Timestamp? = nil,
        group: String? = nil, _ metadata: MetadataWriter = MetadataWriter()
    ) -> Sample? { sample(type, .quantity(value, unit: unit), key, start, end, group: group, metadata) }

    /// `nil` if the key is too long, or the metadata too large.
    func sample(
        _ type: TypeID, _ value: SampleValue, _ key: String, _ start: Timestamp, _ end: Timestamp? = nil,
        group: String? = nil, _ metadata: MetadataWriter = MetadataWriter()
    ) -> Sample? {
        guard let key = RecordKey(key) else { return nil }
        var object: JSONObject?
        if let text = metadata.text {
            guard let checked = JSONObject(text) else { return nil }
            object = checked
        }
        return Sample(
            source: context.source(account), key: key, type: type, value: value, start: start, end: end,
            subject: context.subject, group: group, metadata: object)
    }

    /// Creates a blood pressure with its two members; `nil` if the key is too long, or the metadata too large.
    ///
    /// - Throws: ``ItemError`` if the hub would reject a value.
    func pressure(
        _ systolic: Double, _ diastolic: Double, _ unit: String, base: String, _ start: Timestamp, _ end: Timestamp?,
        _ metadata: MetadataWriter
    ) throws(ItemError) -> [Sample]? {
        for (id, value) in [(TypeID.bloodPressureSystolic, systolic), (.bloodPressureDiastolic, diastolic)] {
            try PhoneNumbers.check(value, unit, TypeRegistry.standard.type(id))
        }
        guard let whole = sample(.bloodPressure, .correlation, base, start, end, group: base, metadata),
            let high = quantity(.bloodPressureSystolic, systolic, unit, base + " s", start, end, group: base),
            let low = quantity(.bloodPressureDiastolic, diastolic, unit, base + " d", start, end, group: base)
        else { return nil }
        return [whole, high, low]
    }
}
