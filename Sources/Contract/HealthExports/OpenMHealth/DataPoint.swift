import JSON
public import Samples

/// The body of an Open mHealth or IEEE 1752.1 data point, with its schema.
struct DataPointBody {
    let namespace: String
    let name: String
    let version: String
    let json: JSONTree

    /// A measure with one number: its schema, the member that holds the number, and its unit in the schema.
    private struct Measure {
        let schema: String
        let version: String
        let member: String
        let unit: String
        /// The schema has percent for a fraction, or centimetres for metres.
        var isHundredfold = false
        /// The value covers a time interval, not one instant.
        var isOfInterval = false
        var further: [JSONTree.Member] = []
    }

    private static let measures: [TypeID: Measure] = [
        .weight: Measure(schema: "body-weight", version: "3.0", member: "body_weight", unit: "kg"),
        .height: Measure(
            schema: "body-height", version: "2.0", member: "body_height", unit: "cm", isHundredfold: true),
        .bodyFatPercentage: Measure(
            schema: "body-fat-percentage", version: "2.0", member: "body_fat_percentage", unit: "%",
            isHundredfold: true),
        .bodyMassIndex: Measure(
            schema: "body-mass-index", version: "3.0", member: "body_mass_index", unit: "kg/m^2"),
        .heartRate: Measure(schema: "heart-rate", version: "2.0", member: "heart_rate", unit: "beats/min"),
        .restingHeartRate: Measure(
            schema: "heart-rate", version: "2.0", member: "heart_rate", unit: "beats/min",
            further: [.init("temporal_relationship_to_physical_activity", "at rest")]),
        .respiratoryRate: Measure(
            schema: "respiratory-rate", version: "2.0", member: "respiratory_rate", unit: "breaths/min"),
        .oxygenSaturation: Measure(
            schema: "oxygen-saturation", version: "2.0", member: "oxygen_saturation", unit: "%", isHundredfold: true),
        .bodyTemperature: Measure(
            schema: "body-temperature", version: "4.0", member: "body_temperature", unit: "C"),
        .bloodGlucose: Measure(schema: "blood-glucose", version: "4.0", member: "blood_glucose", unit: "mg/dL"),
        .forcedVitalCapacity: Measure(
            schema: "forced-vital-capacity", version: "1.0", member: "forced_vital_capacity", unit: "L"),
        .forcedExpiratoryVolume1: Measure(
            schema: "forced-expiratory-volume-1-second", version: "1.0", member: "forced_expiratory_volume_1_second",
            unit: "L"),
        .stepCount: Measure(
            schema: "step-count", version: "3.0", member: "step_count", unit: "steps", isOfInterval: true,
            further: [.init("descriptive_statistic", "sum")]),
        .activeEnergyBurned: Measure(
            schema: "calories-burned", version: "2.0", member: "kcal_burned", unit: "kcal", isOfInterval: true,
            further: [.init("descriptive_statistic", "sum")]),
    ]

    /// - Parameter isIEEE: whether to use the schemas of IEEE 1752.1, and those of Open mHealth only for types that it lacks.
    /// - Returns: `nil` for types without a schema.
    static func of(_ item: ExportItem, _ sample: Sample, isIEEE: Bool) -> DataPointBody? {
        if case .workout(let activity, _) = sample.value { return workout(sample, activity, isIEEE: isIEEE) }
        if sample.type == .bloodPressure { return bloodPressure(item, sample) }
        guard let value = item.record.inOneUnit?.value else { return nil }
        if isIEEE, sample.type == .stepCount {
            return DataPointBody(
                namespace: "ieee", name: "physical-activity", version: "1.0",
                json: .object([
                    .init("activity_name", "walking"),
                    .init("base_movement_quantity", number(NumberWriter.text(value), "steps")),
                    .init("effective_time_frame", frame(sample, isOfInterval: true)),
                    .init("descriptive_statistic", "sum"),
                ]))
        }
        guard let measure = measures[sample.type] else { return nil }
        let digits = measure.isHundredfold ? DecimalDigits.hundredfold(value) : NumberWriter.text(value)
        return DataPointBody(
            namespace: "omh", name: measure.schema, version: measure.version,
            json: .object(
                [
                    .init(measure.member, number(digits, measure.unit)),
                    .init("effective_time_frame", frame(sample, isOfInterval: measure.isOfInterval)),
                ] + measure.further))
    }

    private static func bloodPressure(_ item: ExportItem, _ sample: Sample) -> DataPointBody? {
        func value(_ type: TypeID) -> JSONTree? {
            item.members.first { $0.type == type }?.inOneUnit.map {
                number(NumberWriter.text($0.value), "mmHg")
            }
        }
        guard let systolic = value(.bloodPressureSystolic), let diastolic = value(.bloodPressureDiastolic) else {
            return nil
        }
        return DataPointBody(
            namespace: "omh", name: "blood-pressure", version: "4.0",
            json: .object([
                .init("systolic_blood_pressure", systolic), .init("diastolic_blood_pressure", diastolic),
                .init("effective_time_frame", frame(sample)),
            ]))
    }

    private static func workout(_ sample: Sample, _ activity: String, isIEEE: Bool) -> DataPointBody {
        var members: [JSONTree.Member] = [
            .init("activity_name", .text(words(of: activity))),
            .init("effective_time_frame", frame(sample, isOfInterval: true)),
        ]
        let totals = sample.workout?.totals ?? []
        func total(_ isWanted: (WorkoutParts.Total) -> Bool, in unit: String) -> JSONTree? {
            guard let found = totals.first(where: { $0.statistic == .sum && isWanted($0) }),
                let from = try? HealthUnit(found.unit), let to = try? HealthUnit(unit),
                let value = try? from.convert(found.value, to: to)
            else { return nil }
            return number(NumberWriter.text(value), unit)
        }
        if let distance = total({ $0.type.rawValue.hasPrefix("distance") }, in: "m") {
            members.append(.init("distance", distance))
        }
        if let energy = total({ $0.type == .activeEnergyBurned }, in: "kcal") {
            members.append(.init("kcal_burned", energy))
        }
        if isIEEE, let duration = sample.workoutDuration {
            members.append(.init("duration", number(NumberWriter.text(duration), "sec")))
        }
        return DataPointBody(
            namespace: isIEEE ? "ieee" : "omh", name: "physical-activity", version: isIEEE ? "1.0" : "1.2",
            json: .object(members))
    }

    /// `crossCountrySkiing` as `cross country skiing`.
    private static func words(of name: String) -> String {
        var text = ""
        for character in name { text += character.isUppercase ? " " + character.lowercased() : String(character) }
        return text
    }

    private static func number(_ digits: String, _ unit: String) -> JSONTree {
        ["value": .number(digits), "unit": .text(unit)]
    }

    private static func frame(_ sample: Sample, isOfInterval: Bool = false) -> JSONTree {
        guard sample.start != sample.end || isOfInterval else { return ["date_time": .text(sample.start.text)] }
        return [
            "time_interval": [
                "start_date_time": .text(sample.start.text), "end_date_time": .text(sample.end.text),
            ]
        ]
    }
}

/// Data points of Open mHealth or of IEEE 1752.1, one per line.
public struct DataPointExport: ExportWriter {
    /// The header of a data point.
    public enum Header: Sendable {
        /// header-1.2 of Open mHealth.
        case openMHealth
        /// header-1.0 of IEEE 1752.1.
        case ieee1752
    }

    public private(set) var account = ExportSummary()
    private let header: Header
    private let created: Timestamp

    /// - Parameter created: when the data points are made. Open mHealth requires it.
    public init(_ header: Header, created: Timestamp) { (self.header, self.created) = (header, created) }

    public mutating func write(_ item: ExportItem, to output: inout [UInt8]) {
        guard let person = item.record.assignment.person else {
            return account.leaveOut(
                item.record.assignment.isGuest ? "a guest's" : "without a person: hub inbox says why")
        }
        switch item.record.record {
        case .sample(let sample):
            guard let body = DataPointBody.of(item, sample, isIEEE: header == .ieee1752) else {
                return account.leaveOut("\(sample.type): there is no schema for it")
            }
            output.append(
                contentsOf: JSONTree.object([
                    .init("header", head(sample, body, person)), .init("body", body.json),
                ]).bytes)
            output.append(UInt8(ascii: "\n"))
            account.written += 1
        case .day: account.leaveOut("values made for whole days: there is no schema for them")
        case .retraction: account.leaveOut("retractions: a data point cannot express them")
        }
    }

    private func head(_ sample: Sample, _ body: DataPointBody, _ person: Person) -> JSONTree {
        let uuid = RecordUUID.text(sample.source, sample.key)
        let schema: JSONTree = [
            "namespace": .text(body.namespace), "name": .text(body.name), "version": .text(body.version),
        ]
        let modality = DataPointExport.modality(sample)
        switch header {
        case .ieee1752:
            return .object(
                [
                    .init("uuid", .text(uuid)), .init("schema_id", schema),
                    .init("source_creation_date_time", .text(sample.end.text)),
                ] + modality)
        case .openMHealth:
            return .object([
                .init("id", .text(uuid)), .init("creation_date_time", .text(created.text)),
                .init("schema_id", schema),
                .init(
                    "acquisition_provenance",
                    .object(
                        [
                            .init("source_name", .text(sample.source.names)),
                            .init("source_data_point_id", .text(sample.key.text)),
                            .init("source_creation_date_time", .text(sample.end.text)),
                        ] + modality)),
                .init("user_id", .text(person.name)),
            ])
        }
    }

    /// How a measured or entered sample was acquired.
    private static func modality(_ sample: Sample) -> [JSONTree.Member] {
        guard sample.provenance == .measured else { return [] }
        let isEntered =
            sample.source.plugin == Source.byHand || sample.metadataTree?["wasUserEntered"]?.truth == true
        return [.init("modality", isEntered ? "self-reported" : "sensed")]
    }
}
