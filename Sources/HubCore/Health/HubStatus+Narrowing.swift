extension HubStatus {
    /// As a plugin is told that may ask for it: of persons those that it may read (R12.13).
    func narrowed(to reading: ReadGrant?) -> HubStatus {
        guard let names = reading?.persons else { return self }
        var status = self
        status.persons = persons.filter { names.contains($0.name) }
        return status
    }
}
