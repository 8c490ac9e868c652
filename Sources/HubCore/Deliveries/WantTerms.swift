import HubSessions
import HubStore
import HubWire
import Samples

extension SinkTerms {
    /// What a WANT asks for, narrowed to what its instance may read (R10.10).
    ///
    /// - Parameter zone: tells which day it is where a record does not know its local time.
    /// - Throws: `field` for a type or person that is none here, `forbidden` when no type is left of those asked for.
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
        // Of what is not granted nothing comes, and nothing says so (R8.120): its own it would not get either (R10.5).
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
