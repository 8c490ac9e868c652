/// A known file format that is not an Apple Health export.
///
/// It is recognised by content, so that the error can name the format and the way to import its data.
public struct ForeignFormat: Hashable, Sendable {
    /// Such as `a Samsung Health export`.
    public let name: String
    /// The way to bring its records into a hub today; a sentence without its full stop.
    public let advice: String

    init(_ name: String, _ advice: String = ForeignFormat.lines) { (self.name, self.advice) = (name, advice) }

    /// The error text after the path and a colon.
    public var sentence: String { "this is \(name), which hub import does not read: \(advice)" }

    private static let lines =
        "write its records as JSON Lines, one object a line as Docs/Samples.md says, and hub import takes them"
    private static let connect =
        "let its app write to Health Connect, and send that with HC Webhook or HCGateway (Docs/Phones.md)"
    private static let either =
        "let its app write to Apple Health and import that export, or to Health Connect and send that with HC Webhook (Docs/Phones.md)"

    // MARK: - Detection by the names in a zip or folder

    /// - Parameter names: paths of files, with `/` between folders.
    public static func named(_ names: some Sequence<String>) -> ForeignFormat? {
        let names = names.lazy.map { $0.lowercased() }
        for (mark, format) in folders where names.contains(where: { mark($0) }) { return format }
        return nil
    }

    private static let folders: [(mark: @Sendable (String) -> Bool, format: ForeignFormat)] = [
        ({ $0.hasSuffix("health_connect_export.db") }, healthConnect),
        ({ $0.contains("com.samsung.") }, samsung),
        (
            {
                $0.contains("global export data/") || $0.contains("_googledata/") || $0.contains("takeout/fitbit/")
                    || $0.contains("takeout/google health/")
            }, fitbit
        ),
        ({ $0.contains("takeout/fit/") }, googleFit),
        ({ $0.contains("di_connect/") || $0.contains("di-connect-") }, garmin),
        ({ $0.hasSuffix("gadgetbridge.db") || $0.hasSuffix("database/gadgetbridge") }, gadgetbridge),
        (
            { name in
                ["weight.csv", "bp.csv", "height.csv"].contains(name) || name.hasPrefix("aggregates_")
                    || name.hasPrefix("raw_tracker_")
            }, withings
        ),
        ({ $0.contains("heartrate_auto/") || $0.contains("sleep_minute/") || $0.contains("activity_minute/") }, zepp),
        ({ $0.contains("nutrition-summary-") || $0.contains("measurement-summary-") }, myFitnessPal),
        ({ $0.contains("247ohr_") || $0.contains("training-session-") }, polar),
        ({ $0.hasSuffix("sleepmodel.csv") || $0.hasSuffix("dailyreadiness.csv") }, oura),
        ({ $0.contains("physiological_cycles") }, whoop),
    ]

    private static let healthConnect = ForeignFormat(
        "a Health Connect export", "send what Health Connect has with HC Webhook or HCGateway (Docs/Phones.md)")
    private static let samsung = ForeignFormat("a Samsung Health export", connect)
    private static let fitbit = ForeignFormat("a Fitbit export (Google Takeout)", connect)
    private static let googleFit = ForeignFormat("a Google Fit export (Google Takeout)")
    private static let garmin = ForeignFormat("a Garmin export", either)
    private static let withings = ForeignFormat("a Withings export", either)
    private static let zepp = ForeignFormat("a Zepp Life or Amazfit export", either)
    private static let gadgetbridge = ForeignFormat("a Gadgetbridge database", connect)
    private static let myFitnessPal = ForeignFormat("a MyFitnessPal export", either)
    private static let polar = ForeignFormat("a Polar Flow export", either)
    private static let oura = ForeignFormat("an Oura export", either)
    private static let whoop = ForeignFormat("a WHOOP export", either)
    private static let renpho = ForeignFormat("a Renpho export", either)
    private static let omron = ForeignFormat("an Omron Connect export", either)
    private static let openScale = ForeignFormat(
        "an openScale export", "openScale-sync sends openScale's measurements to the hub (Docs/Phones.md)")
    private static let autoExport = ForeignFormat(
        "a file of Health Auto Export",
        "POST it to /ingest/hae with a token of hub ingest new (Docs/Phones.md), as the app itself does")

    // MARK: - Detection by the first bytes

    /// The number of bytes that ``starting(with:)`` examines.
    public static let headSize = 65_536

    /// - Parameter head: the first bytes of a file.
    public static func starting(with head: [UInt8]) -> ForeignFormat? {
        if let format = binary(head) { return format }
        let plain = (try? PlainTextSource(BytesSource(head)).readAll(upTo: 2 * head.count + 64)) ?? head
        var text = String(decoding: plain, as: UTF8.self)
        if text.hasPrefix("\u{FEFF}") { text.removeFirst() }
        let first = text.prefix { !$0.isNewline }.lowercased()
        switch text.first(where: { !$0.isWhitespace }) {
        case "<": return markup(text)
        case "{", "[": return object(text)
        default: return table(first) ?? second(text)
        }
    }

    private static func binary(_ head: [UInt8]) -> ForeignFormat? {
        if head.starts(with: "SQLite format 3\0".utf8) {
            let text = String(decoding: head, as: UTF8.self)
            if text.contains("application_info_table") { return healthConnect }
            if text.contains("ACTIVITY_SAMPLE") { return gadgetbridge }
            return ForeignFormat("an SQLite database", "hub restore takes a hub's own backups; of others " + lines)
        }
        if head.count > 12, head[8..<12].elementsEqual(".FIT".utf8) {
            return ForeignFormat("a FIT file of a Garmin or other device")
        }
        let archives: [([UInt8], String)] = [
            ([0x1F, 0x8B], "gzip"), ([0x37, 0x7A, 0xBC, 0xAF], "7-Zip"), ([0x52, 0x61, 0x72, 0x21], "RAR"),
            ([0x42, 0x5A, 0x68], "bzip2"), ([0xFD, 0x37, 0x7A, 0x58], "xz"), ([0x28, 0xB5, 0x2F, 0xFD], "zstd"),
        ]
        if let (_, name) = archives.first(where: { head.starts(with: $0.0) }) {
            return ForeignFormat("a file packed with \(name)", "unpack it, and import its content")
        }
        if head.count > 262, head[257..<262].elementsEqual("ustar".utf8) {
            return ForeignFormat("a tar archive", "unpack it, and import its content")
        }
        if head.starts(with: "%PDF".utf8) { return ForeignFormat("a PDF") }
        return nil
    }

    private static func markup(_ text: String) -> ForeignFormat? {
        let marks: [(String, ForeignFormat)] = [
            ("<gpx", ForeignFormat("a GPX route", "the whole export of Apple Health has its routes")),
            ("<TrainingCenterDatabase", ForeignFormat("a TCX workout")),
            (
                "<ClinicalDocument",
                ForeignFormat(
                    "the export_cda.xml of Apple Health",
                    "give export.zip, or export.xml beside it: it has the same and more")
            ),
            ("<html", ForeignFormat("a web page", "download the file that it links to")),
        ]
        return marks.first { text.contains($0.0) }?.1
    }

    private static func object(_ text: String) -> ForeignFormat? {
        func has(_ names: String...) -> Bool { names.allSatisfy { text.contains("\"\($0)\"") } }
        if has("data", "metrics") || has("data", "workouts") && !has("source") { return autoExport }
        if has("logId") || has("dateTime", "value") && has("bpm") { return fitbit }
        if has("userProfilePK") || has("timestampGMT") || has("calendarDate") || has("summarizedActivitiesExport") {
            return garmin
        }
        if has("Data Points") || has("fitValue") { return googleFit }
        if has("dateTime", "value") { return fitbit }
        if has("resourceType") { return ForeignFormat("a FHIR document") }
        if has("deviceDays") || has("exportVersion", "samples") { return polar }
        if has("binning_data") { return samsung }
        return nil
    }

    /// Detects a format by the header of a table, in lower case.
    private static func table(_ header: String) -> ForeignFormat? {
        let cells = header.split(omittingEmptySubsequences: false) { $0 == "," || $0 == ";" || $0 == "\t" }
            .map { $0.filter { $0 != "\"" && $0 != " " } }
        func has(_ names: String...) -> Bool { names.allSatisfy { cells.contains($0) } }
        func begins(_ names: String...) -> Bool { cells.starts(with: names) }
        if header.hasPrefix("com.samsung.") { return samsung }
        if header.hasPrefix("#version") || cells.first == "#date" { return ForeignFormat("a Libra export") }
        if header.hasPrefix("\u{FEFF}") { return table(String(header.dropFirst())) }
        if cells.count == 7, cells[0] == "date" || cells[0] == "datum",
            cells[1...5].allSatisfy({ $0.hasSuffix("(kg)") }) || cells[1...5].allSatisfy({ $0.hasSuffix("(lb)") })
        {
            return withings
        }
        if begins("date", "heartrate", "systolic", "diastolic") || begins("date", "herzfrequenz", "systole", "diastole")
            || begins("start", "duration", "value") || has("from", "to", "light(s)") || has("von", "bis", "leicht(s)")
            || has("from", "to", "activitytype") || begins("date", "height(m)") || begins("date", "height(in)")
            || begins("date", "gewicht(kg)")
        {
            return withings
        }
        if has("timestamp", "datasource") || begins("timestamp", "weightgrams") || has("sleep_log_entry_id")
            || begins("sleep_id") || begins("exercise_id")
        {
            return fitbit
        }
        if begins("date", "moveminutescount") || begins("starttime", "endtime", "moveminutescount") { return googleFit }
        if begins("time", "weight", "change", "bmi") || begins("", "actual", "goal") { return garmin }
        if has("datetime", "weight") || begins("date", "time", "weight") || begins("date", "time", "bmi")
            || begins("date", "time", "biceps") || begins("date", "time") && has("weight", "body_fat")
        {
            return openScale
        }
        if cells.contains(where: { $0.hasPrefix("timeofmeasurement") }) || has("date", "time", "weight(kg)")
            || has("date", "time", "weight(lb)")
        {
            return renpho
        }
        if has("fatrate") || has("deepsleeptime") || begins("date", "steps", "distance", "rundistance") { return zepp }
        if cells.contains(where: { $0.hasPrefix("systolic(mmhg)") || $0.hasPrefix("systolisch(mmhg)") }) {
            return omron
        }
        if begins("date", "meal") { return myFitnessPal }
        if begins("day") && has("group") {
            return ForeignFormat("a Cronometer export", either)
        }
        if begins("id", "day") { return oura }
        if cells.first?.hasPrefix("cyclestart") == true || cells.first?.hasPrefix("startzeitdeszyklus") == true {
            return whoop
        }
        if has("kind", "type", "person", "value", "start", "plugin") {
            return ForeignFormat(
                "a table of hub export",
                "export the records again as JSON Lines (hub export all.jsonl), which have every member")
        }
        if begins("datum", "zeit") { return ForeignFormat("an export of Health Sync", either) }
        if cells.count == 2, cells[0] == "date", cells[1].hasPrefix("pound") {
            return ForeignFormat("a Happy Scale export", either)
        }
        return nil
    }

    /// Detects exports whose first line is not a header but a comment or a date.
    private static func second(_ text: String) -> ForeignFormat? {
        let lines = text.split(whereSeparator: \.isNewline).prefix(8).map { $0.lowercased() }
        if let found = lines.dropFirst().lazy.compactMap({ table($0) }).first { return found }
        guard let first = lines.first else { return nil }
        let separators = [Character(","), ";", "\t"].map { mark in first.count(where: { $0 == mark }) }
        guard separators.max() ?? 0 >= 2 else { return nil }
        return ForeignFormat("a table (CSV) that is not known here")
    }
}
