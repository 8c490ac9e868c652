extension HubStatus {
    /// The status for a plugin that may ask for it: only the persons that it may read (R12.13).
    func narrowed(to reading: ReadGrant?) -> HubStatus {
        guard let names = reading?.persons else { return self }
        var status = self
        status.persons = persons.filter { names.contains($0.name) }
        return status
    }
}
