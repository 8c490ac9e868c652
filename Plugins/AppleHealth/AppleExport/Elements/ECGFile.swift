import Samples

/// An electrocardiogram as Apple Health writes it: ten lines of labels and values in the phone's language, then one voltage per line.
public struct ECGFile: Hashable, Sendable {
    public var time: ExportTime
    /// Seconds since 1970.
    public var recorded: Int64 { time.seconds }
    /// Whether the time is in a form of the phone's language.
    public var isForeignTime: Bool
    public var classification: String
    public var symptoms: String
    public var softwareVersion: String
    public var device: String
    /// The sample rate as written, such as `511,422 hertz`, and in hertz if it can be read.
    public var sampleRate: String
    public var hertz: Double?
    public var lead: String
    public var unit: String
    /// The voltages as written, with a decimal point.
    public var voltages: [String]
    /// The number of voltage lines that are not numbers, and the first such line, counted from 1.
    public var unreadLines: Int
    public var firstUnreadLine: Int?

    /// Why a file is not an electrocardiogram.
    public struct ECGError: Error, Hashable, Sendable {
        public var reason: String
        /// The time as written in the file.
        public var time: String?
    }

    /// A recording of 30 s at 512 Hz has 15,360.
    private static let maximumVoltages = 1_000_000

    /// Reads labels by position, because their words are in the phone's language.
    ///
    /// Does not keep the name and the date of birth in the file, because the hub already knows the person.
    public init(_ bytes: [UInt8]) throws(ECGError) {
        var rows: [[String]] = []
        var voltages: [String] = []
        var (unread, first): (Int, Int?) = (0, nil)
        let plain = (try? PlainTextSource(BytesSource(bytes)).readAll(upTo: 2 * bytes.count + 64)) ?? bytes
        let text = String(decoding: plain, as: UTF8.self)
        var number = 0
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            number += 1
            guard !line.isEmpty else { continue }
            if let voltage = ECGFile.voltage(line), rows.count >= 8, voltages.count < ECGFile.maximumVoltages {
                voltages.append(voltage)
            } else if voltages.isEmpty, rows.count < 64 {
                rows.append(ECGFile.fields(line))
            } else {
                unread += 1
                first = first ?? number
            }
        }
        func value(_ row: Int) -> String { row < rows.count && rows[row].count > 1 ? rows[row][1] : "" }
        var times = ExportTimeReader()
        guard let recorded = times.time(value(2)) else {
            throw ECGError(
                reason: value(2).isEmpty ? "its third line has no time" : "its time has several meanings, or none",
                time: value(2).isEmpty ? nil : String(value(2).prefix(64)))
        }
        (time, isForeignTime) = (recorded, times.wasForeign)
        (classification, symptoms, softwareVersion) = (value(3), value(4), value(5))
        (device, sampleRate, lead, unit) = (value(6), value(7), value(8), value(9))
        hertz = ECGFile.rate(value(7))
        (self.voltages, unreadLines, firstUnreadLine) = (voltages, unread, first)
    }

    /// A line that contains only one number.
    ///
    /// A line with both a point and a comma could be two numbers and is rejected.
    static func voltage(_ line: some StringProtocol) -> String? {
        let text = String(line.filter { $0 != " " && $0 != "\u{A0}" }).replacing(",", with: ".")
        guard !text.isEmpty, text.utf8.count <= 32, text.utf8.count(where: { $0 == 0x2E }) <= 1,
            DecimalText.number(text) != nil
        else { return nil }
        return text
    }

    private static func rate(_ text: String) -> Double? {
        let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == "." || $0 == ",") }.replacing(",", with: ".")
        return DecimalText.number(number).flatMap { $0 > 0 ? $0 : nil }
    }

    /// The fields of one line of RFC 4180 CSV.
    static func fields(_ line: some StringProtocol) -> [String] {
        var (fields, isQuoted) = ([""], false)
        for character in line {
            if character == "\"" {
                isQuoted.toggle()
            } else if character == ",", !isQuoted {
                fields.append("")
            } else {
                fields[fields.count - 1].append(character)
            }
        }
        return fields
    }
}
