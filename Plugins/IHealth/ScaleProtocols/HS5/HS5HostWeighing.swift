extension HS5Host {
    /// Handles a message of a measurement.
    mutating func weighed(_ message: HS5ScaleMessage, _ frame: FamilyMessage) {
        weighingBy = now.uptime + settings.weighingTimeout
        switch message {
        case .unstableWeight(let tenths):
            begins()
            shown = nil
            if (1...Self.model.capacity).contains(tenths) { report(.unstableWeight(tenths)) }
        case .stableWeight(let tenths):
            // The scale repeats it because its confirmation was lost: the weight delivered meanwhile belongs to this weighing.
            if shown?.message != frame {
                begins()
                shown = nil
                stable = weight(tenths).map { ($0, frame) }
            }
            tell(.confirm(.stableWeight))
        case .impedanceWeight(let tenths):
            if (1...Self.model.capacity).contains(tenths) { report(.impedanceWeight(tenths)) }
            tell(.confirm(.impedanceWeight))
        case .composition(let record):
            guard (1...Self.model.capacity).contains(record.tenthsOfKilogram) else {
                report(.overCapacity(Self.model))
                return confirm(.composition)
            }
            var reading = reading(record, settings.measures)
            // After a long silence its weight has already been delivered.
            if let shown { reading = reading.following(shown.reading) }
            (stable, shown) = (nil, nil)
            deliver([reading], from: .weighing, .measurement(confirms: .composition))
        case .ended:
            (weighingBy, shown) = (nil, nil)
            guard let weight = stable else { return confirm(.end) }
            // Shoes, or no contact: a weighing without composition.
            stable = nil
            deliver([weight.reading], from: .weighing, .measurement(confirms: .end))
        default: break
        }
    }

    /// Notes that a person is on the scale: the measurement is open, even if that message was lost.
    private mutating func begins() {
        if phase == .openingMeasurement { (request, phase) = (nil, .measuring) }
    }

    /// Dates a weight that came without a time with the host's time.
    private mutating func weight(_ tenths: Int) -> ScaleReading? {
        guard tenths > 0 else { return nil }
        guard tenths <= Self.model.capacity, let record = HS5Record(now.wall, tenthsOfKilogram: tenths) else {
            report(.overCapacity(Self.model))
            return nil
        }
        return ScaleReading(
            key: record.key, time: now.wall, tenthsOfKilogram: tenths, user: settings.measures, raw: record.bytes,
            isDatedByHost: true)
    }

    /// Delivers the stable weight of an interrupted weighing, which still counts.
    mutating func endWeighing() {
        guard let weight = stable else { return }
        (stable, shown) = (nil, weight)
        deliver([weight.reading], from: .weighing, .measurement(confirms: nil))
    }
}
