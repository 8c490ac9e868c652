import ScaleProtocols

/// A stand-in that speaks a scale's own protocol: the state and the rules that all models share.
protocol DeviceStandIn: ScaleStandIn {
    /// The time of the present input.
    var now: ScaleMoment { get set }
    /// The actions that result from the present input.
    var actions: [StandInAction] { get set }
    /// The number of seconds by which its clock is ahead of the wall clock.
    var clockOffset: Int { get set }
    var isLinked: Bool { get }

    mutating func open()
    mutating func unlink()
    mutating func receive(_ bytes: [UInt8])
    mutating func tick()
    /// Lets a person step on and off.
    mutating func weigh(_ person: StandInWeighing)
    /// Stores a weighing unknown to any host.
    mutating func store(_ person: StandInWeighing, at time: WallTime)
    /// Reports an error byte.
    mutating func fail(_ raw: UInt8)
    /// Forgets what replaced batteries forget.
    mutating func losePower()
}

extension DeviceStandIn {
    public mutating func handle(_ input: StandInInput, at now: ScaleMoment) -> [StandInAction] {
        self.now = now
        defer { actions = [] }
        switch input {
        case .linkOpened: open()
        case .received(let bytes): if isLinked { receive(bytes) }
        case .linkClosed: unlink()
        case .tick: if isLinked { tick() }
        case .weigh(let person): weigh(person)
        case .store(let person, let time): store(person, at: time)
        case .fail(let raw): fail(raw)
        case .moveClock(let seconds): clockOffset = clockOffset.moved(by: seconds)
        case .restart: restart()
        }
        return written(actions)
    }

    mutating func restart() {
        if isLinked { actions.append(.hangUp) }
        unlink()
        losePower()
    }

    mutating func losePower() {}

    mutating func report(_ event: StandInEvent) { actions.append(.event(event)) }

    /// The time on its clock.
    var clock: WallTime { now.wall.adding(seconds: clockOffset) ?? now.wall }

    mutating func setClock(_ time: WallTime) {
        clockOffset = time.secondsSince2000 - now.wall.secondsSince2000
        report(.clockSet(time))
    }

    /// The scale's side of the log-in: whether the answer to its challenge is right, for a stand-in that knows the key.
    func accepts(_ answer: [UInt8], to challenge: [UInt8], key: ScaleKey?) -> Bool {
        !faults.refusesLogIn && key.map { $0.answer(to: challenge) == answer } ?? true
    }
}

extension Int {
    /// An offset in seconds after a jump of the clock, limited to the range of dates, so that no sum of jumps overflows.
    func moved(by seconds: Int) -> Int {
        Swift.max(-3_000_000_000, Swift.min(3_000_000_000, addingReportingOverflow(seconds).0))
    }
}
