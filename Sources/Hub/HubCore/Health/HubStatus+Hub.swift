import HubStore
public import HubWire

extension HubStatus {
    /// The status for a plugin that may ask for it: only the persons that it may read (R12.13).
    func narrowed(to reading: ReadGrant?) -> HubStatus {
        guard let names = reading?.persons else { return self }
        var status = self
        status.persons = persons.filter { names.contains($0.name) }
        return status
    }
}

extension HubStatus.AccountStatus {
    /// Whether it counts manual changes, and the notices that a record has left a person.
    public var isByHand: Bool { instance == IntakeCounts.hand }
}

extension ErasureFailure {
    init(_ fault: ErasureFault) { self.init(number: fault.number, reason: fault.reason) }
}
