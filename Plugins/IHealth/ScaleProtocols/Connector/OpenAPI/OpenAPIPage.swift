import JSON

/// A weighing of the vendor's cloud, with the zone of its date.
struct CloudWeighing: Sendable, Hashable {
    var reading: ScaleReading
    /// Minutes east of UTC; `nil` if the service does not report the zone.
    var offsetMinutes: Int?

    init(reading: ScaleReading, offsetMinutes: Int? = nil) {
        (self.reading, self.offsetMinutes) = (reading, offsetMinutes)
    }
}

/// A page of weights in the form of the Open API: at most fifty records, all in one unit.
struct OpenAPIPage: Sendable {
    /// The total number of records on all pages.
    let total: Int
    private let items: [JSONTree]
    /// The number of kilograms in one unit.
    private let factor: Double

    var count: Int { items.count }

    /// Returns `nil` for any other content.
    init?(_ bytes: [UInt8]) {
        guard let json = JSONTree(bytes), let items = json["WeightDataList"]?.list,
            let total = json["RecordCount"]?.whole,
            let unit = json["WeightUnit"]?.whole, Self.factors.indices.contains(unit)
        else { return nil }
        (self.total, self.items, factor) = (total, items, Self.factors[unit])
    }

    private static let factors = [1, 0.453_592_37, 6.350_293_18]

    /// The readable records of a page, and the numbers of the others.
    struct Weighings: Sendable {
        var found: [CloudWeighing] = []
        /// Records typed in by a person, so not from the scale.
        var manual = 0
        /// Records without a weight or date that this scale can have.
        var unreadable = 0
    }

    /// The records that a device has measured, in the form of a scale's records.
    ///
    /// - Parameter user: the scale's user number of the account's owner.
    func weighings(of model: ScaleModel, _ device: String, user: UInt32?) -> Weighings {
        var result = Weighings()
        for item in items {
            guard item["DataSource"]?.text == "FromDevice" else {
                result.manual += 1
                continue
            }
            guard let reading = CloudReading(inKilograms(item), of: model, deviceId: device, user: user)?.reading else {
                result.unreadable += 1
                continue
            }
            result.found.append(CloudWeighing(reading: reading, offsetMinutes: Self.offset(item["TimeZone"])))
        }
        return result
    }

    private func inKilograms(_ item: JSONTree) -> JSONTree {
        guard factor != 1, let members = item.members, let weight = item["WeightValue"]?.decimal else { return item }
        // It is not documented whether the bone is in that unit, too.
        let others = members.filter { $0.name != "WeightValue" && $0.name != "BoneValue" }
        return .object(others + [.init("WeightValue", JSONTree(weight * factor))])
    }

    /// Parses `"-0800"`, `"+02:00"`, or the number 200 for two hours.
    static func offset(_ zone: JSONTree?) -> Int? {
        guard let number = zone?.whole ?? zone?.text.flatMap({ Int($0.filter { $0 != ":" && $0 != "+" }) }) else {
            return nil
        }
        let (hours, minutes) = (abs(number) / 100, abs(number) % 100)
        guard hours <= 14, minutes < 60 else { return nil }
        return (hours * 60 + minutes) * (number < 0 ? -1 : 1)
    }
}
