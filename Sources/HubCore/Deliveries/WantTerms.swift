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
        filter.types = names.reading.narrowed(types: asked)
        if asked != nil, filter.types?.isEmpty == true {
            let allowed = (names.reading.types ?? []).map(\.rawValue).sorted().joined(separator: ", ")
            throw WireError(
                .forbidden,
                "WANT.types: this instance may read none of them; its manifest and grants allow \(allowed)")
        }
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
