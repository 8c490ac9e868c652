import ScaleProtocols

extension HS5Device {
    // MARK: Weighings

    mutating func weigh(_ person: StandInWeighing) {
        guard person.tenthsOfKilogram <= ScaleModel.hs5.capacity else { return fail(0xE1) }
        let composition = faults.losesComposition ? .none : person.composition ?? .none
        guard person.tenthsOfKilogram > 0,
            let record = HS5Record(person.time ?? clock, tenthsOfKilogram: person.tenthsOfKilogram, composition)
        else { return report(.refused("a HS5 weighs 0.1–150 kg")) }
        guard isLinked, case .measuring(let user) = mode, person.user ?? user == user, weighing == nil else {
            guard let user = person.user ?? users.compactMap(\.self).first else {
                return report(.refused("a HS5 stores a weighing for one of its users, and has none"))
            }
            return keep(record, of: user)
        }
        let weight = record.tenthsOfKilogram.bigEndianBytes(2)
        say(.unstableWeight, weight)
        var steps: [(command: FamilyCommand, data: [UInt8])] = [(.stableWeight, weight)]
        if composition != .none { steps += [(.impedanceWeight, weight), (.composition, record.bytes)] }
        steps.append((.end, []))
        weighing = Weighing(record: record, user: user, steps: steps)
        step()
    }

    mutating func store(_ person: StandInWeighing, at time: WallTime) {
        guard let user = person.user ?? users.compactMap(\.self).first, users.contains(user),
            let record = HS5Record(time, tenthsOfKilogram: person.tenthsOfKilogram, person.composition ?? .none)
        else { return report(.refused("a HS5 stores 0–409.5 kg, 2000–2255, for one of its users")) }
        keep(record, of: user)
    }

    mutating func step() {
        guard var open = weighing, let next = open.steps.first else { return }
        if let silence = faults.silence[next.command] {
            (open.bytes, open.repeatAt) = ([], now.uptime + silence)
            return weighing = open
        }
        say(next.command, next.data)
        open.bytes = said.last ?? []
        (open.repeatAt, open.repeatsLeft) = (now.uptime + profile.repeatAfter, profile.repeats)
        weighing = open
    }

    mutating func confirmed(_ command: FamilyCommand) {
        guard var open = weighing, open.steps.first?.command == command else { return }
        open.steps.removeFirst()
        weighing = open
        guard open.steps.isEmpty else { return step() }
        (weighing, mode) = (nil, .idle)
        report(.acknowledged(open.record.key))
    }

    mutating func tick() {
        guard var open = weighing, let next = open.steps.first, now.uptime >= open.repeatAt else { return }
        if open.bytes.isEmpty {
            say(next.command, next.data)
            open.bytes = said.last ?? []
            open.repeatsLeft = profile.repeats
        } else {
            guard open.repeatsLeft > 0 else { return breakOff() }
            open.repeatsLeft -= 1
            transmit(open.bytes)
        }
        open.repeatAt = now.uptime + profile.repeatAfter
        weighing = open
    }

    // MARK: Sending

    mutating func fail(_ raw: UInt8) { say(.error, [raw]) }

    mutating func say(_ command: FamilyCommand, _ data: [UInt8], isAnswer: Bool = false) {
        guard isLinked else { return }
        sequence &+= 1
        guard
            let bytes = HS5Datagram.bytes(
                from: .scale, command.rawValue, data, sequence: sequence, isAnswer: isAnswer, sender: profile.id)
        else { return }
        said.append(bytes)
        transmit(bytes)
    }

    /// Sends a datagram; a fault may affect it.
    mutating func transmit(_ bytes: [UInt8]) {
        datagrams += 1
        if isDue(faults.loseEvery, datagrams) { return report(.fault("datagram \(datagrams) was lost")) }
        var damaged = bytes
        if isDue(faults.badChecksumEvery, datagrams) { damaged[damaged.count - 1] ^= 0x55 }
        actions.append(.send(damaged))
        if isDue(faults.repeatEvery, datagrams) { actions.append(.send(bytes)) }
    }
}
