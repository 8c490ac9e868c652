import ScaleProtocols

extension HS5Device {
    mutating func say(
        _ command: HS5Command, _ data: [UInt8], isAnswer: Bool = false, _ actions: inout [StandInAction]
    ) {
        guard isLinked else { return }
        sequence &+= 1
        guard
            let bytes = HS5Datagram.bytes(
                from: .scale, command.rawValue, data, sequence: sequence, isAnswer: isAnswer, sender: profile.id)
        else { return }
        said.append(bytes)
        transmit(bytes, &actions)
    }

    /// Sends a datagram; a fault may affect it.
    mutating func transmit(_ bytes: [UInt8], _ actions: inout [StandInAction]) {
        datagrams += 1
        if isDue(faults.loseEvery, datagrams) {
            return actions.append(.event(.fault("datagram \(datagrams) was lost")))
        }
        var damaged = bytes
        if isDue(faults.badChecksumEvery, datagrams) { damaged[damaged.count - 1] ^= 0x55 }
        actions.append(.send(damaged))
        if isDue(faults.repeatEvery, datagrams) { actions.append(.send(bytes)) }
    }

    func isDue(_ every: Int?, _ count: Int) -> Bool { every.map { $0 > 0 && count % $0 == 0 } ?? false }
}
