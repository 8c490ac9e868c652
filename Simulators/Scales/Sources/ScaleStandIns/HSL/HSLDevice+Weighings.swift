import JSON
import ScaleProtocols

extension HSLDevice {
    private func key(of weighing: Weighing, _ model: ScaleModel) -> [UInt8] {
        model.record(weighing.time, weighing.tenthsOfKilogram, weighing.composition)?.key ?? []
    }

    /// Sends a durable event and waits for its acknowledgement.
    mutating func offer(_ weighing: Weighing, _ name: HSLEventName, _ place: Int) {
        let device = scales[place].id
        let event = Outstanding(
            device: device, name: name, weighing: weighing,
            rid: device.rid(name, weighing.time, tenths: weighing.tenthsOfKilogram),
            isLive: name == .stableWeight || name == .bodyComposition)
        if !outstanding.contains(event) { outstanding.append(event) }
        tell(event, ref: scales[place].request?.id)
    }

    mutating func acknowledged(_ device: HSLDeviceID, _ rid: String) {
        guard let index = outstanding.firstIndex(where: { $0.device == device && $0.rid == rid }),
            let place = scales.firstIndex(where: { $0.id == device })
        else { return }
        let event = outstanding.remove(at: index)
        if event.name == .memoryRecord, device.model != .hs3 {
            scales[place].memory.removeAll { $0 == event.weighing }
        }
        // A weight and its composition are one weighing.
        let isRest = outstanding.contains { $0.device == device && $0.weighing == event.weighing && $0.isLive }
        guard !isRest || event.name == .memoryRecord else { return }
        report(.acknowledged(key(of: event.weighing, device.model)))
        if event.name == .memoryRecord, !outstanding.contains(where: { $0.name == .memoryRecord }) {
            report(.transferFinished)
        }
    }

    mutating func weigh(_ person: StandInWeighing, _ place: Int) {
        let scale = scales[place]
        let model = scale.id.model
        let tenths = person.tenthsOfKilogram
        guard tenths <= model.capacity else { return tell(.overCapacity(model), place) }
        let user = model == .hs5 ? person.user ?? scale.request?.serial : nil
        let composition = model == .hs5 && !faults.losesComposition ? person.composition : nil
        let time = person.time ?? now.wall.adding(seconds: scale.skewSeconds) ?? now.wall
        let weighing = Weighing(time, tenthsOfKilogram: tenths, composition: composition, user: user)
        let isMeasuring = isOpen && scale.request?.isMeasuring == true && (user == nil || user == scale.request?.serial)
        if model == .hs3 || !isMeasuring { store(person, place, at: time) }
        guard isMeasuring, tenths > 0 else { return }
        if model != .hs3 {
            for part in [9, 11, 10] {
                tell(.unstableWeight, scale.id, ["weight": .tenths(tenths * part / 10)], ref: scale.request?.id)
            }
        }
        offer(weighing, .stableWeight, place)
        if composition != nil, composition != HS5Record.Composition.none {
            tell(.impedanceWeight, scale.id, ["weight": .tenths(tenths)], ref: scale.request?.id)
            offer(weighing, .bodyComposition, place)
        }
        if model != .hs3 { end(place, .done) }
    }

    mutating func store(_ person: StandInWeighing, _ place: Int, at time: WallTime) {
        let model = scales[place].id.model
        let user = model == .hs5 ? person.user ?? scales[place].users.compactMap(\.self).first : nil
        let weighing = Weighing(
            time, tenthsOfKilogram: person.tenthsOfKilogram,
            composition: model == .hs5 && !faults.losesComposition ? person.composition : nil, user: user)
        guard (1...model.capacity).contains(person.tenthsOfKilogram),
            model.record(time, person.tenthsOfKilogram, weighing.composition) != nil,
            model != .hs5 || user.map({ scales[place].users.contains($0) }) == true
        else {
            return report(.refused("a \(model.rawValue) cannot store this weighing"))
        }
        scales[place].memory.append(weighing)
        let excess = scales[place].memory.count - scales[place].memoryLimit
        if excess > 0 { scales[place].memory.removeFirst(excess) }
        report(.stored(key(of: weighing, model)))
    }

    mutating func fail(_ raw: UInt8, _ place: Int) {
        tell(.sent(raw, by: scales[place].id.model), place, raw: raw)
    }
}
