import JSON
public import Samples

/// Writes records in canonical form (Protocol §6): fixed order of members, no white space, shortest numbers, fewest escapes.
///
/// It appends to a buffer of the caller, who should keep it and empty it with `removeAll(keepingCapacity: true)`.
/// It cannot fail; a number that is not finite, which JSON cannot express, becomes `null`, which every decoder refuses.
public enum RecordEncoder {
    /// Appends a record in the form of its source, without the plugin and without members that have their default value.
    public static func append(_ record: Record, to output: inout [UInt8]) {
        var writer = RecordWriter(taking: &output)
        switch record {
        case .sample(let sample): writer.write(sample, as: nil)
        case .day(let day): writer.write(day, as: nil)
        case .retraction(let retraction): writer.write(retraction, as: nil)
        }
        writer.finish(into: &output)
    }

    /// Appends a record in the hub's form, for the feed and for RESULT.
    ///
    /// A day value and its retraction get the name of the person to whom they are assigned.
    public static func append(_ stored: StoredRecord, to output: inout [UInt8]) {
        var writer = RecordWriter(taking: &output)
        let hub = HubMembers(stored)
        switch stored.record {
        case .sample(let sample): writer.write(sample, as: hub)
        case .day(let day): writer.write(day, as: hub)
        case .retraction(let retraction): writer.write(retraction, as: hub)
        }
        writer.finish(into: &output)
    }
}

/// The members that the hub adds to a record.
///
/// Much smaller than the stored record, which is expensive to pass on.
private struct HubMembers {
    let number: Int64
    let sequence: Int64
    let assignment: Assignment
    let type: TypeID
    let canonical: StoredRecord.CanonicalValue?
    let edited: SampleMembers
    let implausible: SampleMembers
    let mirrors: [Int64]

    init(_ stored: StoredRecord) {
        number = stored.number
        sequence = stored.sequence
        assignment = stored.assignment
        type = stored.type
        canonical = stored.canonical
        edited = stored.edited
        implausible = stored.implausible
        mirrors = stored.mirrors
    }
}

/// Writes one record.
///
/// Every method with `stored` writes the hub's form if it is set, else the source's.
private struct RecordWriter {
    private var output: [UInt8] = []

    /// Takes the caller's buffer, so that this is the only reference to its storage and appending does not copy it.
    init(taking buffer: inout [UInt8]) {
        swap(&output, &buffer)
        output.append(UInt8(ascii: "{"))
    }

    /// Closes the object and returns the buffer.
    ///
    /// Every member ends with a comma; the brace replaces the last one.
    mutating func finish(into buffer: inout [UInt8]) {
        output[output.count - 1] = UInt8(ascii: "}")
        swap(&output, &buffer)
    }

    mutating func write(_ sample: Sample, as stored: HubMembers?) {
        text(#""kind":""#, sample.value.kind.rawValue)
        text(#""type":""#, sample.type.rawValue)
        value(sample.value, stored?.canonical)
        time(#""start":""#, sample.start)
        if stored != nil || sample.end != sample.start { time(#""end":""#, sample.end) }
        optional(#""zone":""#, sample.zone)
        if let stored { person(stored.assignment) }
        if let subject = sample.subject { self.subject(subject) }
        source(sample.source, isStored: stored != nil)
        quoted(#""key":""#, sample.key.text)
        optional(#""group":""#, sample.group)
        if stored != nil || sample.provenance != .measured { provenance(sample.provenance) }
        object(#""metadata":"#, sample.metadata)
        if let version = sample.sourceVersion { integer(#""sourceVersion":"#, version) }
        if !sample.origin.isEmpty { origin(sample.origin) }
        if let stored, !stored.edited.isEmpty { members(#""edited":["#, stored.edited) }
        if let stored, !stored.implausible.isEmpty { members(#""implausible":["#, stored.implausible) }
        if let stored, !stored.mirrors.isEmpty {
            let list = stored.mirrors.map(String.init).joined(separator: ",")
            output.append(json: #""mirrors":["# + list + "],")
        }
        extra(sample)
        if let stored { numbers(stored) }
    }

    /// Writes the extra members; the sample's part is written beside the other members.
    private mutating func extra(_ sample: Sample) {
        guard let extra = sample.extra else { return }
        guard let name = sample.partName, let separated = extra.separating(name) else {
            return object(#""extra":"#, extra)
        }
        output.append(json: "\"\(name)\":\(separated.text),")
        object(#""extra":"#, separated.rest)
    }

    mutating func write(_ day: DayValue, as stored: HubMembers?) {
        output.append(literal: #""kind":"day","#)
        text(#""type":""#, day.type.rawValue)
        value(.quantity(day.value, unit: day.unit), stored?.canonical)
        quoted(#""series":""#, day.series)
        text(#""date":""#, day.date.text)
        quoted(#""method":""#, day.method)
        if let date = day.observedOn { text(#""observedOn":""#, date.text) }
        if let age = day.age { integer(#""age":"#, Int64(age)) }
        output.append(literal: #""basis":"#)
        basis(day.basis)
        output.append(UInt8(ascii: ","))
        optional(#""zone":""#, day.zone)
        person(day.person, stored)
        source(day.source, isStored: stored != nil)
        object(#""metadata":"#, day.metadata)
        object(#""extra":"#, day.extra)
        if let stored { numbers(stored) }
    }

    mutating func write(_ retraction: Retraction, as stored: HubMembers?) {
        output.append(literal: #""kind":"retraction","#)
        switch retraction.identity {
        case .sample(let identity, let key):
            if let stored {
                text(#""type":""#, stored.type.rawValue)
                person(stored.assignment)
            }
            source(identity, isStored: stored != nil)
            quoted(#""key":""#, key.text)
        case .day(let person, let type, let series, let date):
            text(#""type":""#, type.rawValue)
            quoted(#""series":""#, series)
            text(#""date":""#, date.text)
            self.person(person, stored)
            source(retraction.source, isStored: stored != nil)
        }
        if stored != nil { text(#""by":""#, retraction.author.rawValue) }
        optional(#""reason":""#, retraction.reason)
        if let version = retraction.sourceVersion { integer(#""sourceVersion":"#, version) }
        if let stored { numbers(stored) }
    }
}

extension RecordWriter {
    private mutating func value(_ value: SampleValue, _ canonical: StoredRecord.CanonicalValue?) {
        switch value {
        case .quantity(let number, let unit):
            self.number(#""value":"#, canonical?.value ?? number)
            quoted(#""unit":""#, canonical?.unit ?? unit)
            guard canonical != nil else { return }
            output.append(literal: #""original":{"#)
            self.number(#""value":"#, number)
            quoted(#""unit":""#, unit)
            closeObject()
        case .category(let name, let raw), .workout(let name, let raw):
            quoted(#""value":""#, name)
            integer(#""raw":"#, raw)
        case .correlation: break
        case .characteristic(let text, let raw):
            quoted(#""value":""#, text)
            if let raw { integer(#""raw":"#, raw) }
        case .other(let text): optional(#""value":""#, text)
        }
    }

    private mutating func person(_ assignment: Assignment) {
        switch assignment {
        case .person(let person):
            quoted(#""person":""#, person.name)
            quoted(#""personId":""#, person.uid)
        case .nobody(let reason):
            output.append(literal: #""person":null,"#)
            quoted(#""unassigned":""#, reason)
        }
    }

    /// Writes the person of a day, whom its source names.
    private mutating func person(_ name: String, _ stored: HubMembers?) {
        if let stored, stored.assignment.person != nil {
            person(stored.assignment)
        } else {
            quoted(#""person":""#, name)
            if case .nobody(let reason) = stored?.assignment { quoted(#""unassigned":""#, reason) }
        }
    }

    private mutating func subject(_ subject: Subject) {
        switch subject {
        case .account(let account): quoted(#""subject":{"account":""#, account)
        case .slot(let slot): integer(#""subject":{"slot":"#, Int64(slot))
        case .name(let name): quoted(#""subject":{"name":""#, name)
        }
        closeObject()
    }

    private mutating func source(_ source: Source, isStored: Bool) {
        guard isStored || source.device != nil || source.account != nil else { return }
        output.append(literal: #""source":{"#)
        if isStored { quoted(#""plugin":""#, source.plugin) }
        optional(#""device":""#, source.device)
        optional(#""account":""#, source.account)
        closeObject()
    }

    private mutating func provenance(_ provenance: Provenance) {
        let basis: [Provenance.Basis]
        switch provenance {
        case .measured: return output.append(literal: #""provenance":"measured","#)
        case .derived(let formula, let version, let made):
            quoted(#""provenance":{"kind":"derived","formula":""#, formula)
            quoted(#""version":""#, version)
            basis = made
        case .filled(let method, let made):
            quoted(#""provenance":{"kind":"filled","method":""#, method)
            basis = made
        }
        output.append(literal: #""basis":"#)
        self.basis(basis)
        output.append(literal: "},")
    }

    private mutating func basis(_ basis: [Provenance.Basis]) {
        output.append(UInt8(ascii: "["))
        for (index, element) in basis.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            switch element {
            case .number(let number): NumberWriter.append(number, to: &output)
            case .key(let key): output.append(quoted: key.text)
            }
        }
        output.append(UInt8(ascii: "]"))
    }

    private mutating func origin(_ steps: [OriginStep]) {
        output.append(literal: #""origin":["#)
        for step in steps {
            switch step {
            case .system(let name, let account):
                quoted(#"{"system":""#, name)
                optional(#""account":""#, account)
            case .hub(let id): quoted(#"{"hub":""#, id)
            }
            closeObject()
        }
        output[output.count - 1] = UInt8(ascii: "]")
        output.append(UInt8(ascii: ","))
    }

    private mutating func members(_ opening: StaticString, _ members: SampleMembers) {
        output.append(literal: opening)
        for (member, name) in SampleMembers.named where members.contains(member) {
            output.append(UInt8(ascii: "\""))
            output.append(literal: name)
            output.append(literal: "\",")
        }
        output[output.count - 1] = UInt8(ascii: "]")
        output.append(UInt8(ascii: ","))
    }

    private mutating func numbers(_ stored: HubMembers) {
        integer(#""number":"#, stored.number)
        integer(#""seq":"#, stored.sequence)
    }

    private mutating func closeObject() {
        output[output.count - 1] = UInt8(ascii: "}")
        output.append(UInt8(ascii: ","))
    }

    /// A member whose text needs no escapes; `name` ends with the opening quote.
    private mutating func text(_ name: StaticString, _ text: String) {
        output.append(literal: name)
        output.append(json: text)
        output.append(literal: #"","#)
    }

    /// A member with any text; `name` ends with the opening quote.
    private mutating func quoted(_ name: StaticString, _ text: String) {
        output.append(literal: name)
        output.append(escaped: text)
        output.append(literal: #"","#)
    }

    private mutating func optional(_ name: StaticString, _ text: String?) {
        if let text { quoted(name, text) }
    }

    private mutating func object(_ name: StaticString, _ object: JSONObject?) {
        guard let object else { return }
        output.append(literal: name)
        output.append(json: object.text)
        output.append(UInt8(ascii: ","))
    }

    private mutating func integer(_ name: StaticString, _ integer: Int64) {
        output.append(literal: name)
        NumberWriter.append(integer, to: &output)
        output.append(UInt8(ascii: ","))
    }

    private mutating func number(_ name: StaticString, _ number: Double) {
        output.append(literal: name)
        NumberWriter.append(number, to: &output)
        output.append(UInt8(ascii: ","))
    }

    private mutating func time(_ name: StaticString, _ time: Timestamp) {
        output.append(literal: name)
        withUnsafeTemporaryAllocation(byteCount: Timestamp.maximumTextLength, alignment: 1) { buffer in
            let count = time.write(to: buffer)
            output.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
        output.append(literal: #"","#)
    }
}
