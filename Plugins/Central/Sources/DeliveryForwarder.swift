import PluginKit

/// Sends the hub's deliveries to the centre; returns one result for each record.
struct DeliveryForwarder: Sendable {
    let hub: PluginContext
    let centre: Centre
    let book: ConsentBook

    func deliver(_ records: [DeliveredRecord], for want: Want) async throws -> [DeliveryResult] {
        guard let consent = try await book.active(want: want.name) else {
            throw DeliveryFailure.retry(after: .seconds(3_600), "the consent was withdrawn: nothing leaves")
        }
        var results: [DeliveryResult] = []
        var going: [(index: Int, record: WireRecord)] = []
        for (index, record) in records.enumerated() {
            switch WireRecord.passage(of: record.stored, under: consent) {
            case .stays(let reason): results.append(.refused(reason: reason))
            case .goes(let wire):
                going.append((index, wire))
                results.append(.retry(after: 0, reason: nil))  // Until the centre has answered.
            }
        }
        guard let last = records.last, !going.isEmpty else { return results }
        let answers = try await give(going.map(\.record), consent, last.version)
        for (answer, place) in zip(answers, going) { results[place.index] = answer }
        return results
    }

    private func give(_ records: [WireRecord], _ consent: Consent, _ last: Cursor) async throws -> [DeliveryResult] {
        do {
            let (book, want) = (book, consent.want)
            return try await centre.give(records, epoch: last.epoch, backlog: backlog(behind: last)) {
                try await book.active(want: want) != nil
            }.map { Self.result($0, consent) }
        } catch let failure as CentreError {
            throw DeliveryFailure.retry(after: Self.pause(after: failure.kind), failure.description)
        }
    }

    private static func result(_ outcome: Centre.Outcome, _ consent: Consent) -> DeliveryResult {
        switch outcome {
        case .answered(.stored, let receipt), .answered(.had, let receipt): .delivered(receipt: receipt)
        case .answered(.noConsent, _):
            .refused(
                reason:
                    "the centre has no consent for it: \(consent.study) may be over there; consent again to deliver it")
        case .answered(.noType, _): .refused(reason: "no study of the centre asks for this type")
        case .impossible(let failure): .refused(reason: failure.description)
        }
    }

    /// The pause before a retry: a fix needs no action here, and many hubs do not retry at the same time.
    private static func pause(after kind: CentreError.Kind) -> Duration {
        switch kind {
        case .moment, .data: .seconds(Double.random(in: 2...5))
        case .later: .seconds(Double.random(in: 50...70))
        case .person: .seconds(Double.random(in: 240...360))
        }
    }

    /// About how many records wait behind this one, from the hub's sequence at the start of the session.
    private func backlog(behind last: Cursor) -> Int64? {
        guard let identity = hub.identity, identity.epoch == last.epoch else { return nil }
        return max(0, identity.head - last.sequence)
    }
}
