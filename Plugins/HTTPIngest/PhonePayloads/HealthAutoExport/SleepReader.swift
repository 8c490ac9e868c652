import JSON
import Samples

/// Reads a point of `sleep_analysis`: a segment, or a whole night.
struct SleepReader {
    let context: PhoneContext
    let maker: SampleMaker
    /// The unit of a night's durations, as the metric gives it; nil if it gives none, which means hours.
    let units: String?

    /// The members of a segment and of a night, in all versions of the app.
    static let names: [StaticString] = [
        "date", "startDate", "endDate", "value", "qty", "source", "sleepStart", "sleepEnd", "inBedStart", "inBedEnd",
        "totalSleep", "asleep", "core", "deep", "rem", "awake", "inBed", "sleepSource", "inBedSource",
    ]

    func read(_ members: Members, _ at: PhonePlace, _ batch: inout PhoneBatch) -> [SampleDraft] {
        if members["startDate"] != nil, members["endDate"] != nil { return segment(members, at, &batch) }
        if members["sleepStart"] != nil, members["sleepEnd"] != nil { return night(members, at, &batch) }
        batch.reject(at, "time", "neither startDate and endDate of a segment nor sleepStart and sleepEnd of a night")
        return []
    }

    private static let values: [String: String] = [
        "awake": "awake", "inbed": "inBed", "core": "asleepCore", "rem": "asleepREM", "deep": "asleepDeep",
        "asleep": "asleepUnspecified", "unspecified": "asleepUnspecified",
    ]

    private func segment(_ members: Members, _ at: PhonePlace, _ batch: inout PhoneBatch) -> [SampleDraft] {
        guard let start = members.text("startDate").flatMap(PhoneTime.read),
            let end = members.text("endDate").flatMap(PhoneTime.read)
        else {
            batch.reject(at, "time", "startDate or endDate cannot be read")
            return []
        }
        guard start.microseconds <= end.microseconds else {
            batch.reject(at, "time", "endDate is before startDate")
            return []
        }
        var word = PhoneKeys.folded(members.text("value") ?? "").replacing("_", with: "")
        if word != "asleep", word.hasPrefix("asleep") { word.removeFirst("asleep".count) }
        guard let name = Self.values[word], let type = TypeRegistry.standard.type(.sleepAnalysis),
            let raw = type.value(named: name)?.raw
        else {
            batch.reject(at, "value", "value is none of Awake, Asleep, In Bed, Core, REM, Deep, Unspecified")
            return []
        }
        let source = members.text("source") ?? ""
        var metadata = MetadataWriter()
        metadata.add("sourceName", text: source)
        let key = "\(PhoneTime.key(start.microseconds)) sleepAnalysis r \(PhoneKeys.hash(source, name))"
        guard let sample = maker.category(.sleepAnalysis, raw, key, start, end, metadata) else {
            batch.reject(at, "metadata", "the point is too large for a record")
            return []
        }
        return [SampleDraft(sample, base: key, content: PhoneTime.key(end.microseconds), at)]
    }

    /// Whether durations are in hours.
    ///
    /// The app always gives hours, so a word that is not a clear unit of time means hours as well.
    private var isInHours: Bool {
        guard let units, let time = TypeRegistry.standard.type(.appleExerciseTime) else { return true }
        return PhoneUnits.unit(units, of: time).map { UnitStatement.areSame($0, "hr", of: time) } ?? true
    }

    /// Reads a night as one record of a separate kind.
    ///
    /// Its stages have durations but no times, and the reader does not invent any.
    private func night(_ members: Members, _ at: PhonePlace, _ batch: inout PhoneBatch) -> [SampleDraft] {
        guard let start = members.text("sleepStart").flatMap(PhoneTime.read),
            let end = members.text("sleepEnd").flatMap(PhoneTime.read), start.microseconds <= end.microseconds
        else {
            batch.reject(at, "time", "sleepStart or sleepEnd cannot be read, or the end is before the start")
            return []
        }
        guard isInHours else {
            batch.reject(at, "unit", "the lengths of a night are in hours (hr), and the metric states another unit")
            return []
        }
        let text = members.text("date") ?? ""
        guard let date = ForeignDate.day(text) ?? PhoneTime.read(text)?.localDate else {
            batch.reject(at, "time", "date is missing, or cannot be read")
            return []
        }
        var metadata = MetadataWriter()
        metadata.add("sourceName", text: members.text("source") ?? members.text("sleepSource"))
        let lengths: [StaticString] = ["totalSleep", "asleep", "core", "deep", "rem", "awake", "inBed"]
        for name in lengths { metadata.add("\(name)Hours", json: members.digits(name)) }
        for name in ["inBedStart", "inBedEnd"] as [StaticString] {
            metadata.add("\(name)", text: members.text(name).flatMap(PhoneTime.read)?.text)
        }
        let key = "\(date.text.replacing("-", with: "")) sleepNight"
        guard let type = try? TypeID("x.hae.sleepNight"),
            let sample = maker.sample(type, .other(nil), key, start, end, metadata)
        else {
            batch.reject(at, "metadata", "the point is too large for a record")
            return []
        }
        return [SampleDraft(sample, base: key, content: PhoneTime.key(end.microseconds), at)]
    }
}
