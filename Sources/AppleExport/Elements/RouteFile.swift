import JSON
import Samples

/// A GPX file (1.1) as Apple Health writes it: `trkpt` with `ele`, `time`, and in `extensions` `speed`, `course`, `hAcc`, `vAcc`.
public enum RouteFile {
    /// Calls `point` for each in the order of the file, and `unread` with how many have no place or time.
    ///
    /// - Returns: how many bytes it has, unpacked.
    static func read(
        _ source: any ByteSource, _ point: (RoutePointText) -> Void, unread: (Int) -> Void
    ) throws(ExportError) -> Int64 {
        var tokenizer = XMLTokenizer(source)
        var (current, faults): (RoutePointReader?, Int) = (nil, 0)
        while true {
            switch try tokenizer.next() {
            case .end:
                faults += tokenizer.malformedTags + (tokenizer.endsInTag || current != nil ? 1 : 0)
                if faults > 0 { unread(faults) }
                return tokenizer.endOffset
            case .open, .empty:
                guard tokenizer.isNamed("trkpt") else { continue }
                if current != nil { faults += 1 }
                var reader = RoutePointReader()
                if let latitude = tokenizer.value(of: "lat") { reader.take("latitude", latitude) }
                if let longitude = tokenizer.value(of: "lon") { reader.take("longitude", longitude) }
                current = reader
            case .close:
                guard current != nil else { continue }
                if tokenizer.isNamed("trkpt") {
                    if let made = current?.made() { point(made) } else { faults += 1 }
                    current = nil
                } else if tokenizer.isNamed("time") {
                    current?.microseconds = (try? Timestamp(parsing: tokenizer.text))?.microseconds
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
}

/// One point, as it is read.
struct RoutePointReader {
    var microseconds: Int64?
    private var json: [UInt8] = []
    private var (hasLatitude, hasLongitude, isUnknown) = (false, false, false)

    init() {}

    /// A member that a point may have; one that says that it is not known, such as a course of -1, is left out.
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

    /// `nil` without time or place, and where the device said that it did not know its place.
    func made() -> RoutePointText? {
        guard let microseconds, hasLatitude, hasLongitude, !isUnknown, Timestamp.range.contains(microseconds) else {
            return nil
        }
        var point = Array(#"{"time":""#.utf8)
        point += Timestamp(microseconds: microseconds).text.utf8
        point.append(0x22)
        return RoutePointText(microseconds: microseconds, json: point + json + [0x7D])
    }
}
