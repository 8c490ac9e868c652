import Samples

/// An electrocardiogram as Apple Health writes it: ten lines of labels and what they say, in the phone's language, and a voltage a line.
public struct ECGFile: Hashable, Sendable {
    /// Seconds since 1970.
    public var recorded: Int64
    public var classification: String
    public var symptoms: String
    public var softwareVersion: String
    public var device: String
    /// As it is written, such as `511,422 hertz`, and in hertz where that can be read.
    public var sampleRate: String
    public var hertz: Double?
    public var lead: String
    public var unit: String
    /// As they are written, with a point.
    public var voltages: [String]
    /// Lines that are no voltage.
    public var unreadLines: Int

    /// Of the 30 s at 512 Hz there are 15,360.
    private static let maximumVoltages = 1_000_000

    /// Reads labels by their place, since their words are in the phone's language.
    ///
    /// The name and the date of birth, which stand there too, are not kept: whose it is the hub knows.
    /// - Returns: `nil` where there is no time.
    public init?(_ bytes: [UInt8]) {
        var rows: [[String]] = []
        var voltages: [String] = []
        var unread = 0
        for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
            if let voltage = ECGFile.voltage(line), rows.count >= 8 {
                guard voltages.count < ECGFile.maximumVoltages else { break }
                voltages.append(voltage)
            } else if voltages.isEmpty {
                guard rows.count < 64 else { break }
                rows.append(ECGFile.fields(line))
            } else {
                unread += 1
            }
        }
        func value(_ row: Int) -> String { row < rows.count && rows[row].count > 1 ? rows[row][1] : "" }
        var times = ExportTimeReader()
        guard let recorded = Array(value(2).utf8).withUnsafeBytes({ times.seconds($0) }) else { return nil }
        self.recorded = recorded
        (classification, symptoms, softwareVersion) = (value(3), value(4), value(5))
        (device, sampleRate, lead, unit) = (value(6), value(7), value(8), value(9))
        hertz = ECGFile.rate(value(7))
        (self.voltages, unreadLines) = (voltages, unread)
    }

    /// A line that is one number and nothing else.
    ///
    /// One with both a point and a comma could be two numbers, and is none.
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

    /// A line of RFC 4180 within one line.
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
