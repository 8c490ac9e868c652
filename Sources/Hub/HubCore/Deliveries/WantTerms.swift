import HubStore
import HubWire
import Samples

extension SinkTerms {
    /// The terms of a WANT, narrowed to the types and persons that its instance may read (R10.10).
    ///
    /// - Parameter zone: the zone for the day of a record that does not know its local time.
    /// - Throws: `field` for an unknown type or person, `forbidden` if none of the requested types may be read.
    init(_ request: WantRequest, _ names: FilterNames, plugin: String, zone: String) throws(WireError) {
        var filter = SinkFilter()
        let asked = try names.types(request.types)
        let fitting = names.reading.narrowed(types: asked)
        if asked != nil, fitting?.isEmpty == true {
            let allowed = (names.reading.asked ?? []).map(\.rawValue).sorted().joined(separator: ", ")
            throw WireError(
                .forbidden,
                "WANT.types: this instance asks to read none of them; its manifest asks for \(allowed)")
        }
        // Records that are not granted are left out silently (R8.120); a sink would not get its own records anyway (R10.5).
        let granted = names.reading.types.intersection(fitting)
        (filter.types, filter.exceptTypes) = (granted.only, granted.except)
        filter.persons = try names.persons(request.persons)
        filter.kinds = request.selection.kinds
        let takes = request.takes
        self.init(
            filter: filter,
            abilities: Abilities(
                takesPastDates: takes.pastDates, takesEdits: takes.edits, takesDeletions: takes.deletions,
                takesFilledValues: takes.filled),
            target: Target(plugin: plugin, accounts: request.account.map { [$0] } ?? []), zone: zone)
    }
}
