import JSON
import Samples

/// Reads a point of `sleep_analysis`: a segment, or a whole night.
struct SleepReader {
    let maker: SampleMaker
    /// The unit of a night's durations, as the metric gives it; nil if it gives none, which means hours.
    let units: String?

    /// The members of a segment and of a night, in all versions of the app.
    static let names: [StaticString] = [
        "date", "startDate", "endDate", "value", "qty", "source", "sleepStart", "sleepEnd", "inBedStart", "inBedEnd",
        "totalSleep", "asleep", "core", "deep", "rem", "awake", "inBed", "sleepSource", "inBedSource",
    ]

    func read(_ members: Members, _ at: PhonePlace) throws(ItemError) -> SampleDraft {
        if members["startDate"] != nil, members["endDate"] != nil { return try segment(members, at) }
        if members["sleepStart"] != nil, members["sleepEnd"] != nil { return try night(members, at) }
        throw ItemError("time", "neither startDate and endDate of a segment nor sleepStart and sleepEnd of a night")
    }

    private static let values: [String: String] = [
        "awake": "awake", "inbed": "inBed", "core": "asleepCore", "rem": "asleepREM", "deep": "asleepDeep",
        "asleep": "asleepUnspecified", "unspecified": "asleepUnspecified",
    ]

    private func segment(_ members: Members, _ at: PhonePlace) throws(ItemError) -> SampleDraft {
        guard let start = members.time("startDate"), let end = members.time("endDate") else {
            throw ItemError("time", "startDate or endDate cannot be read")
        }
        guard start.microseconds <= end.microseconds else { throw ItemError("time", "endDate is before startDate") }
        var word = PhoneKeys.folded(members.text("value") ?? "").replacing("_", with: "")
        if word != "asleep", word.hasPrefix("asleep") { word.removeFirst("asleep".count) }
        guard let name = Self.values[word], let type = TypeRegistry.standard.type(.sleepAnalysis),
            let raw = type.value(named: name)?.raw
        else { throw ItemError("value", "value is none of Awake, Asleep, In Bed, Core, REM, Deep, Unspecified") }
        let source = members.text("source") ?? ""
        var metadata = MetadataWriter()
        metadata.add("sourceName", text: source)
        let key = "\(PhoneTime.key(start.microseconds)) sleepAnalysis r \(PhoneKeys.hash(source, name))"
        guard let sample = maker.category(.sleepAnalysis, raw, key, start, end, metadata) else {
            throw ItemError.largePoint
        }
        return SampleDraft([sample], base: key, content: PhoneTime.key(end.microseconds), at)
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
    private func night(_ members: Members, _ at: PhonePlace) throws(ItemError) -> SampleDraft {
        guard let start = members.time("sleepStart"), let end = members.time("sleepEnd"),
            start.microseconds <= end.microseconds
        else { throw ItemError("time", "sleepStart or sleepEnd cannot be read, or the end is before the start") }
        guard isInHours else {
            throw ItemError("unit", "the lengths of a night are in hours (hr), and the metric states another unit")
        }
        let text = members.text("date") ?? ""
        guard let date = ForeignDate.day(text) ?? PhoneTime.read(text)?.localDate else {
            throw ItemError("time", "date is missing, or cannot be read")
        }
        var metadata = MetadataWriter()
        metadata.add("sourceName", text: members.text("source") ?? members.text("sleepSource"))
        let lengths: [StaticString] = ["totalSleep", "asleep", "core", "deep", "rem", "awake", "inBed"]
        for name in lengths { metadata.add("\(name)Hours", json: members.digits(name)) }
        for name in ["inBedStart", "inBedEnd"] as [StaticString] {
            metadata.add("\(name)", text: members.time(name)?.text)
        }
        let key = "\(date.text.replacing("-", with: "")) sleepNight"
        guard let type = try? TypeID("x.hae.sleepNight"),
            let sample = maker.sample(type, .other(nil), key, start, end, metadata)
        else { throw ItemError.largePoint }
        return SampleDraft([sample], base: key, content: PhoneTime.key(end.microseconds), at)
    }
}
