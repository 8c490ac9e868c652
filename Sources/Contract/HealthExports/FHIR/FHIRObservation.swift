import JSON
import Samples

/// A record as an FHIR R4 Observation, with the vital-signs profile if its type has one.
struct FHIRObservation {
    /// The resource.
    let json: JSONTree
    /// The person that the record belongs to.
    let person: Person

    /// An Observation cannot represent the record; the reason is written for people.
    struct Omission: Error, Hashable { let reason: String }

    /// The FHIR vital-signs profiles by type: the last part of the profile's address.
    static let profiles: [TypeID: String] = [
        .weight: "bodyweight", .height: "bodyheight", .bodyMassIndex: "bmi", .heartRate: "heartrate",
        .respiratoryRate: "resprate", .oxygenSaturation: "oxygensat", .bodyTemperature: "bodytemp",
        .bloodPressure: "bp",
    ]
    private static let categories = "http://terminology.hl7.org/CodeSystem/observation-category"

    /// - Parameters:
    ///   - joins: whether correlations contain their members. Members are then not written as Observations.
    ///   - subject: a reference to the Patient.
    /// - Throws: ``Omission``.
    init(_ item: ExportItem, joins: Bool = true, subject: (Person) -> JSONTree) throws(Omission) {
        guard let person = item.record.assignment.person else {
            throw Omission(
                reason: item.record.assignment.isGuest ? "a guest's" : "without a person: hub inbox says why")
        }
        self.person = person
        let reference = subject(person)
        if !joins, TypeRegistry.standard.type(item.record.type)?.kind == .correlation {
            throw Omission(reason: "\(item.record.type): its members are exported separately")
        }
        switch item.record.record {
        case .sample(let sample): json = try FHIRObservation.sample(sample, item, reference)
        case .day: throw Omission(reason: "values made for whole days: an Observation needs the time of a measurement")
        case .retraction(let retraction): json = try FHIRObservation.retraction(retraction, item.record, reference)
        }
    }

    private static func sample(
        _ sample: Sample, _ item: ExportItem, _ subject: JSONTree
    ) throws(Omission) -> JSONTree {
        let type = TypeRegistry.standard.type(sample.type)
        var members = head(
            RecordUUID.text(sample.source, sample.key), type, sample.type, profile: profiles[sample.type],
            status: item.record.edited.isEmpty ? "final" : "amended", subject)
        members += time(sample)
        members.append(origin(sample.source))
        members += try value(sample, item, type)
        let notes = remarks(sample, item.record)
        if !notes.isEmpty {
            members.append(.init("note", .list(notes.map { .object([.init("text", .text($0))]) })))
        }
        if case .derived(let formula, let version, _) = sample.provenance {
            members.append(.init("method", .object([.init("text", .text("\(formula), version \(version)"))])))
        }
        return .object(FHIRObservation.ordered(members))
    }

    /// Marks an Observation that was exported before as entered in error.
    private static func retraction(
        _ retraction: Retraction, _ stored: StoredRecord, _ subject: JSONTree
    ) throws(Omission) -> JSONTree {
        guard case .sample(let source, let key) = retraction.identity else {
            throw Omission(reason: "values made for whole days: an Observation needs the time of a measurement")
        }
        let type = TypeRegistry.standard.type(stored.type)
        return .object(
            head(
                RecordUUID.text(source, key), type, stored.type, profile: nil, status: "entered-in-error", subject))
    }

    // MARK: - Parts

    private static func head(
        _ uuid: String, _ type: HealthType?, _ id: TypeID, profile: String?, status: String, _ subject: JSONTree
    ) -> [JSONTree.Member] {
        var members: [JSONTree.Member] = [.init("resourceType", "Observation"), .init("id", .text(uuid))]
        if let profile {
            members.append(
                .init("meta", ["profile": [.text("http://hl7.org/fhir/StructureDefinition/\(profile)")]]))
        }
        members += [
            .init("identifier", [["system": "urn:ietf:rfc:3986", "value": .text("urn:uuid:\(uuid)")]]),
            .init("status", .text(status)),
        ]
        if let category = category(type, id) {
            members.append(.init("category", [["coding": [["system": .text(categories), "code": .text(category)]]]]))
        }
        members += [.init("code", code(type, id)), .init("subject", subject)]
        return members
    }

    private static func category(_ type: HealthType?, _ id: TypeID) -> String? {
        if profiles[id] != nil || [.bloodPressureSystolic, .bloodPressureDiastolic].contains(id) {
            return "vital-signs"
        }
        if type?.kind == .workout || type?.group == "fitness" { return "activity" }
        return nil
    }

    static func code(_ type: HealthType?, _ id: TypeID) -> JSONTree {
        let codings = InterchangeCode.codings(of: type).map { coding in
            JSONTree.object([.init("system", .text(coding.system)), .init("code", .text(coding.code))])
        }
        let text = JSONTree.Member("text", .text(type?.displayName ?? id.rawValue))
        return .object((codings.isEmpty ? [] : [.init("coding", .list(codings))]) + [text])
    }

    private static func time(_ sample: Sample) -> [JSONTree.Member] {
        guard sample.start != sample.end else {
            return [.init("effectiveDateTime", .text(sample.start.text))]
        }
        return [
            .init("effectivePeriod", ["start": .text(sample.start.text), "end": .text(sample.end.text)])
        ]
    }

    /// The name of the device or program that sent the sample.
    ///
    /// There is no Device resource for it.
    private static func origin(_ source: Source) -> JSONTree.Member {
        JSONTree.Member("device", ["display": .text(source.names)])
    }

    private static func value(
        _ sample: Sample, _ item: ExportItem, _ type: HealthType?
    ) throws(Omission) -> [JSONTree.Member] {
        switch sample.value {
        case .quantity:
            guard let (value, unit) = item.record.inOneUnit else { return [] }
            return [.init("valueQuantity", quantity(InterchangeCode.quantity(value, unit, of: type)))]
        case .category(let name, let raw):
            let known = type?.value(raw: Int(raw)).flatMap(\.healthKitNames.first)
            return [.init("valueCodeableConcept", concept(known, name))]
        case .workout(let activity, let raw):
            let known = WorkoutActivity.activity(raw: Int(raw))?.healthKitName
            return [.init("valueCodeableConcept", concept(known, activity))] + components(ofWorkout: sample)
        case .correlation: return try correlation(sample, item)
        case .characteristic(let text, let raw):
            let known = raw.flatMap { type?.value(raw: Int($0)) }.flatMap(\.healthKitNames.first)
            return [
                known == nil ? .init("valueString", .text(text)) : .init("valueCodeableConcept", concept(known, text))
            ]
        case .other(let text):
            guard let text, !text.isEmpty else {
                throw Omission(reason: "\(sample.type): an Observation cannot hold its value")
            }
            return [.init("valueString", .text(text))]
        }
    }

    private static func concept(_ code: String?, _ text: String) -> JSONTree {
        guard let code else { return ["text": .text(text)] }
        return [
            "coding": [["system": .text(InterchangeCode.healthKit), "code": .text(code)]], "text": .text(text),
        ]
    }

    static func quantity(_ quantity: InterchangeCode.Quantity) -> JSONTree {
        var members: [JSONTree.Member] = [
            .init("value", .number(quantity.value)), .init("unit", .text(quantity.unit)),
        ]
        if let code = quantity.code {
            members += [.init("system", .text(InterchangeCode.ucum)), .init("code", .text(code))]
        }
        return .object(members)
    }

    private static func correlation(_ sample: Sample, _ item: ExportItem) throws(Omission) -> [JSONTree.Member] {
        // A fixed order, independent of the order in which the members were stored.
        let needed = TypeRegistry.standard.type(sample.type)?.requiredMembers ?? []
        let members = item.members.sorted {
            let (left, right) = (needed.firstIndex(of: $0.type) ?? .max, needed.firstIndex(of: $1.type) ?? .max)
            return (left, $0.type.rawValue) < (right, $1.type.rawValue)
        }
        guard !members.isEmpty, Set(needed).isSubset(of: members.map(\.type)) else {
            throw Omission(reason: "\(sample.type): required members are missing")
        }
        let components = members.compactMap { member -> JSONTree? in
            guard let (value, unit) = member.inOneUnit else { return nil }
            let type = TypeRegistry.standard.type(member.type)
            return [
                "code": code(type, member.type),
                "valueQuantity": quantity(InterchangeCode.quantity(value, unit, of: type)),
            ]
        }
        var result: [JSONTree.Member] = []
        if sample.type == .food, let name = sample.metadataTree?["foodType"]?.text {
            result.append(.init("valueString", .text(name)))
        }
        return result + [.init("component", .list(components))]
    }

    private static func components(ofWorkout sample: Sample) -> [JSONTree.Member] {
        var components: [JSONTree] = []
        if let duration = sample.workoutDuration {
            components.append([
                "code": ["text": "Duration without pauses"],
                "valueQuantity": [
                    "value": .number(NumberWriter.text(duration)), "unit": "s", "system": .text(InterchangeCode.ucum),
                    "code": "s",
                ],
            ])
        }
        for total in sample.workout?.totals ?? [] {
            let type = TypeRegistry.standard.type(total.type)
            var name = code(type, total.type)
            if total.statistic != .sum, case .object(let members) = name {
                // The code alone would mean that the value was measured.
                name = .object(
                    members.filter { $0.name == "text" }.map {
                        .init("text", .text("\($0.value.text ?? "") (\(total.statistic.rawValue))"))
                    })
            }
            components.append(["code": name, "valueQuantity": quantity(InterchangeCode.quantity(total))])
        }
        return components.isEmpty ? [] : [.init("component", .list(components))]
    }

    private static func remarks(_ sample: Sample, _ stored: StoredRecord) -> [String] {
        var remarks: [String] = []
        let metadata = sample.metadataTree
        if metadata?["wasUserEntered"]?.truth == true { remarks.append("entered by hand") }
        if let note = metadata?["note"]?.text { remarks.append(note) }
        if case .quantity = sample.value, let food = metadata?["foodType"]?.text { remarks.append("of \(food)") }
        if case .filled(let method, _) = sample.provenance { remarks.append("not measured: filled in by \(method)") }
        let doubtful = SampleMembers.named.filter { stored.implausible.contains($0.member) }.map { "\($0.name)" }
        if !doubtful.isEmpty { remarks.append("implausible: \(doubtful.joined(separator: ", "))") }
        return remarks
    }

    /// FHIR allows any order; this is the order of its specification.
    private static func ordered(_ members: [JSONTree.Member]) -> [JSONTree.Member] {
        let order = [
            "resourceType", "id", "meta", "identifier", "status", "category", "code", "subject", "effectiveDateTime",
            "effectivePeriod", "valueQuantity", "valueCodeableConcept", "valueString", "note", "method", "device",
            "component",
        ]
        return members.sorted { (order.firstIndex(of: $0.name) ?? 0) < (order.firstIndex(of: $1.name) ?? 0) }
    }
}
