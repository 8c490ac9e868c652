extension HS5Host {
    /// A message of a measurement.
    mutating func weighed(_ message: HS5ScaleMessage, at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        if phase == .openingMeasurement { (request, phase) = (nil, .measuring) }
        weighingBy = now.uptime + settings.weighingTimeout
        switch message {
        case .unstableWeight(let tenths):
            if (1...HS5Host.capacity).contains(tenths) { actions.append(.event(.unstableWeight(tenths))) }
        case .stableWeight(let tenths):
            stable = weight(tenths, at: now, &actions)
            tell(.confirm(.stableWeight), &actions)
        case .impedanceWeight(let tenths):
            if (1...HS5Host.capacity).contains(tenths) { actions.append(.event(.impedanceWeight(tenths))) }
            tell(.confirm(.impedanceWeight), &actions)
        case .composition(let record):
            guard (1...HS5Host.capacity).contains(record.tenthsOfKilogram) else {
                actions.append(.event(.deviceError(.overCapacity(.hs5))))
                return confirm(.composition, at: now)
            }
            stable = nil
            let reading = reading(record, settings.measures)
            deliver(Waiting(readings: [reading], source: .weighing, confirms: .composition), &actions)
        case .ended:
            weighingBy = nil
            guard let weight = stable else { return confirm(.end, at: now) }
            // Shoes, or no contact: a weighing without composition.
            stable = nil
            deliver(Waiting(readings: [weight], source: .weighing, confirms: .end), &actions)
        default: break
        }
    }

    /// A weight that came without a time has the host's.
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

    /// A weighing was broken off after its weight stood: it is one all the same.
    mutating func endWeighing(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        guard let weight = stable else { return }
        stable = nil
        deliver(Waiting(readings: [weight], source: .weighing), &actions)
    }

    mutating func finishMeasurement(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        if phase == .measuring { beginRound(at: now, &actions) }
    }
}
