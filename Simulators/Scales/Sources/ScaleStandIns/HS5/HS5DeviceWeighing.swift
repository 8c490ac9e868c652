import ScaleProtocols

extension HS5Device {
    mutating func weigh(
        _ person: StandInWeighing, at now: ScaleMoment, _ actions: inout [StandInAction]
    ) {
        guard person.tenthsOfKilogram <= ScaleModel.hs5.capacity else { return say(.error, [0xE1], &actions) }
        let composition = faults.losesComposition ? .none : person.composition ?? .none
        guard person.tenthsOfKilogram > 0,
            let record = HS5Record(
                person.time ?? clock(at: now), tenthsOfKilogram: person.tenthsOfKilogram, composition)
        else { return actions.append(.event(.refused("a HS5 weighs 0.1–150 kg"))) }
        guard isLinked, case .measuring(let user) = mode, person.user ?? user == user, weighing == nil else {
            guard let user = person.user ?? users.compactMap(\.self).first else {
                return actions.append(.event(.refused("a HS5 stores a weighing for one of its users, and has none")))
            }
            return keep(record, of: user, &actions)
        }
        let weight = [UInt8(record.tenthsOfKilogram >> 8), UInt8(truncatingIfNeeded: record.tenthsOfKilogram)]
        say(.unstableWeight, weight, &actions)
        var steps: [(command: HS5Command, data: [UInt8])] = [(.stableWeight, weight)]
        if composition != .none {
            steps += [(.impedanceWeight, weight), (.composition, record.bytes)]
        }
        steps.append((.end, []))
        weighing = Weighing(record: record, user: user, steps: steps)
        step(at: now, &actions)
    }

    mutating func store(_ person: StandInWeighing, at time: WallTime, _ actions: inout [StandInAction]) {
        guard let user = person.user ?? users.compactMap(\.self).first, users.contains(user),
            let record = HS5Record(time, tenthsOfKilogram: person.tenthsOfKilogram, person.composition ?? .none)
        else {
            return actions.append(.event(.refused("a HS5 stores 0–409.5 kg, 2000–2255, for one of its users")))
        }
        keep(record, of: user, &actions)
    }

    mutating func step(at now: ScaleMoment, _ actions: inout [StandInAction]) {
        guard var open = weighing, let next = open.steps.first else { return }
        if let silence = faults.silence[next.command] {
            (open.bytes, open.repeatAt) = ([], now.uptime + silence)
            return weighing = open
        }
        say(next.command, next.data, &actions)
        open.bytes = said.last ?? []
        (open.repeatAt, open.repeatsLeft) = (now.uptime + profile.repeatAfter, profile.repeats)
        weighing = open
    }

    mutating func confirmed(_ command: HS5Command, at now: ScaleMoment, _ actions: inout [StandInAction]) {
        guard var open = weighing, open.steps.first?.command == command else { return }
        open.steps.removeFirst()
        weighing = open
        guard open.steps.isEmpty else { return step(at: now, &actions) }
        (weighing, mode) = (nil, .idle)
        actions.append(.event(.acknowledged(open.record.key)))
    }

    mutating func tick(at now: ScaleMoment, _ actions: inout [StandInAction]) {
        guard var open = weighing, let next = open.steps.first, now.uptime >= open.repeatAt else { return }
        if open.bytes.isEmpty {
            say(next.command, next.data, &actions)
            open.bytes = said.last ?? []
            open.repeatsLeft = profile.repeats
        } else {
            guard open.repeatsLeft > 0 else { return breakOff(&actions) }
            open.repeatsLeft -= 1
            transmit(open.bytes, &actions)
        }
        open.repeatAt = now.uptime + profile.repeatAfter
        weighing = open
    }
}
