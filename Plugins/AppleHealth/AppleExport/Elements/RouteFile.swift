import JSON
import Samples

/// A GPX file (1.1) as Apple Health writes it: `trkpt` with `ele`, `time`, and in `extensions` `speed`, `course`, `hAcc`, `vAcc`.
public enum RouteFile {
    /// Track points that are not usable.
    struct Faults {
        /// Without a time, or with an unreadable time.
        var timeless = 0
        /// Without latitude or longitude.
        var placeless = 0
        /// The device marked its position as unknown.
        var unplaced = 0
        /// Malformed tags, and points cut off by the end of the file.
        var broken = 0
        /// The first time that cannot be read, as written.
        var wrongTime: String?
    }

    /// Calls `point` for each point in the order of the file.
    ///
    /// - Returns: the number of unpacked bytes, and the unusable points.
    static func read(
        _ source: any ExportByteSource, _ point: (RoutePointText) -> Void
    ) throws(ExportError) -> (bytes: Int64, faults: Faults) {
        var tokenizer = XMLTokenizer(try PlainTextSource(source))
        var (current, faults): (RoutePointReader?, Faults) = (nil, Faults())
        func end(_ reader: RoutePointReader) {
            switch reader.made() {
            case .point(let made): point(made)
            case .timeless: faults.timeless += 1
            case .placeless: faults.placeless += 1
            case .unplaced: faults.unplaced += 1
            }
        }
        while true {
            switch try tokenizer.next() {
            case .end:
                faults.broken += tokenizer.malformedTags + (tokenizer.endsInTag || current != nil ? 1 : 0)
                return (tokenizer.endOffset, faults)
            case .empty where tokenizer.isNamed("trkpt"): faults.timeless += 1
            case .open:
                guard tokenizer.isNamed("trkpt") else { continue }
                if current != nil { faults.broken += 1 }
                var reader = RoutePointReader()
                if let latitude = tokenizer.value(of: "lat") { reader.take("latitude", latitude) }
                if let longitude = tokenizer.value(of: "lon") { reader.take("longitude", longitude) }
                current = reader
            case .empty: continue
            case .close:
                guard let reader = current else { continue }
                if tokenizer.isNamed("trkpt") {
                    end(reader)
                    current = nil
                } else if tokenizer.isNamed("time") {
                    current?.microseconds = (try? Timestamp(parsing: tokenizer.text))?.microseconds
                    if current?.microseconds == nil {
                        let text = String(decoding: tokenizer.text, as: UTF8.self)
                        current?.microseconds = microseconds(text)
                        if current?.microseconds == nil {
                            faults.wrongTime = faults.wrongTime ?? String(text.prefix(64))
                        }
                    }
                } else if tokenizer.isNamed("ele") {
                    current?.take("altitude", tokenizer.text)
                } else if tokenizer.isNamed("speed") {
                    current?.take("speed", tokenizer.text)
                } else if tokenizer.isNamed("course") {
                    current?.take("course", tokenizer.text)
                } else if tokenizer.isNamed("hAcc") {
                    current?.take("horizontalAccuracy", tokenizer.text)
                } else if tokenizer.isNamed("vAcc") {
                    current?.take("verticalAccuracy", tokenizer.text)
                }
            }
        }
    }

    private static func microseconds(_ text: String) -> Int64? {
        let plain = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return TimeText.read(plain).map { $0.time.seconds * 1_000_000 + $0.time.microseconds }
    }
}

/// Collects one point while it is read.
struct RoutePointReader {
    var microseconds: Int64?
    private var json: [UInt8] = []
    private var (hasLatitude, hasLongitude, isUnknown) = (false, false, false)

    init() {}

    /// Reads a member of a point; skips values that mean "unknown", such as a course of -1.
    mutating func take(_ name: String, _ bytes: UnsafeRawBufferPointer) {
        guard let number = DecimalText.number(bytes) else { return }
        switch name {
        case "latitude":
            guard (-90...90).contains(number.value), !hasLatitude else { return }
            hasLatitude = true
        case "longitude":
            guard (-180...180).contains(number.value), !hasLongitude else { return }
            hasLongitude = true
        case "altitude": guard (-12_000...100_000).contains(number.value) else { return }
        case "horizontalAccuracy":
            guard number.value >= 0 else {
                isUnknown = true
                return
            }
        case "speed": guard (0...100_000).contains(number.value) else { return }
        case "course": guard (0...360).contains(number.value) else { return }
        default: guard number.value >= 0 else { return }
        }
        guard json.count < 1_000 else { return }
        json.append(literal: ",\"")
        json += name.utf8
        json.append(literal: "\":")
        if number.isJSON { json.append(contentsOf: bytes) } else { NumberWriter.append(number.value, to: &json) }
    }

    enum Made {
        case point(RoutePointText)
        case timeless, placeless
        /// The device marked its position as unknown.
        case unplaced
    }

    func made() -> Made {
        guard let microseconds, Timestamp.range.contains(microseconds) else { return .timeless }
        guard !isUnknown else { return .unplaced }
        guard hasLatitude, hasLongitude else { return .placeless }
        var point = Array(#"{"time":""#.utf8)
        point += Timestamp(microseconds: microseconds).text.utf8
        point.append(0x22)
        return .point(RoutePointText(microseconds: microseconds, json: point + json + [0x7D]))
    }
}
