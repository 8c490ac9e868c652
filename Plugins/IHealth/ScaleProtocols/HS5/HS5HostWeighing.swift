extension HS5Host {
    /// Handles a message of a measurement.
    mutating func weighed(
        _ message: HS5ScaleMessage, _ frame: FamilyMessage, at now: ScaleMoment, _ actions: inout [ScaleAction]
    ) {
        weighingBy = now.uptime + settings.weighingTimeout
        switch message {
        case .unstableWeight(let tenths):
            begins()
            shown = nil
            if (1...HS5Host.capacity).contains(tenths) { actions.append(.event(.unstableWeight(tenths))) }
        case .stableWeight(let tenths):
            // The scale repeats it because its confirmation was lost: the weight delivered meanwhile belongs to this weighing.
            if shown?.message != frame {
                begins()
                shown = nil
                stable = weight(tenths, at: now, &actions).map { Weight(reading: $0, message: frame) }
            }
            tell(.confirm(.stableWeight), &actions)
        case .impedanceWeight(let tenths):
            if (1...HS5Host.capacity).contains(tenths) { actions.append(.event(.impedanceWeight(tenths))) }
            tell(.confirm(.impedanceWeight), &actions)
        case .composition(let record):
            guard (1...HS5Host.capacity).contains(record.tenthsOfKilogram) else {
                actions.append(.event(.deviceError(.overCapacity(.hs5))))
                return confirm(.composition, at: now)
            }
            var reading = reading(record, settings.measures)
            // After a long silence its weight has already been delivered.
            if let shown { reading = reading.following(shown.reading) }
            (stable, shown) = (nil, nil)
            deliver([reading], from: .weighing, .measurement(confirms: .composition), &actions)
        case .ended:
            (weighingBy, shown) = (nil, nil)
            guard let weight = stable else { return confirm(.end, at: now) }
            // Shoes, or no contact: a weighing without composition.
            stable = nil
            deliver([weight.reading], from: .weighing, .measurement(confirms: .end), &actions)
        default: break
        }
    }

    /// Notes that a person is on the scale: the measurement is open, even if that message was lost.
    private mutating func begins() {
        if phase == .openingMeasurement { (request, phase) = (nil, .measuring) }
    }

    /// Dates a weight that came without a time with the host's time.
    private mutating func weight(
        _ tenths: Int, at now: ScaleMoment, _ actions: inout [ScaleAction]
    ) -> ScaleReading? {
        guard tenths > 0 else { return nil }
        guard tenths <= HS5Host.capacity, let record = HS5Record(now.wall, tenthsOfKilogram: tenths) else {
            actions.append(.event(.deviceError(.overCapacity(.hs5))))
            return nil
        }
        return ScaleReading(
            key: record.key, time: now.wall, tenthsOfKilogram: tenths, user: settings.measures, raw: record.bytes,
            isDatedByHost: true)
    }

    /// Delivers the stable weight of an interrupted weighing, which still counts.
    mutating func endWeighing(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        guard let weight = stable else { return }
        (stable, shown) = (nil, weight)
        deliver([weight.reading], from: .weighing, .measurement(confirms: nil), &actions)
    }

    mutating func finishMeasurement(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        if phase == .measuring { beginRound(at: now, &actions) }
    }
}
