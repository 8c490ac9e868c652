import Samples

extension PhoneBatch {
    /// Rejects records with a time or text beyond the limits, together with their groups.
    ///
    /// This runs for every reader, because one such record would make the hub reject all records sent with it.
    mutating func rejectUnfit() {
        var (groups, places): (Set<String>, Set<PhonePlace>) = ([], [])
        for record in records + kept {
            guard case .sample(let sample) = record.record, let fault = Self.fault(of: sample) else { continue }
            if let group = sample.group { groups.insert(group) }
            if places.insert(record.place).inserted { reject(record.place, fault) }
        }
        guard !places.isEmpty else { return }
        func isUnfit(_ record: PhoneRecord) -> Bool {
            guard case .sample(let sample) = record.record else { return false }
            return sample.group.map(groups.contains) ?? false || Self.fault(of: sample) != nil
        }
        records.removeAll(where: isUnfit)
        kept.removeAll(where: isUnfit)
    }

    private static func fault(of sample: Sample) -> ItemError? {
        guard sample.start.isRepresentable, sample.end.isRepresentable else {
            return ItemError("time", "it begins or ends outside of the years 0001 to 9999")
        }
        let text =
            switch sample.value {
            case .other(let text): text
            case .quantity(_, let unit): unit
            default: nil as String?
            }
        let who: String? =
            switch sample.subject {
            case .name(let name): name
            case .account(let name): name
            default: nil
            }
        guard [text, who].allSatisfy({ ($0?.utf8.count ?? 0) <= PhoneBody.maximumText }) else {
            return ItemError("size", "it has a text of more than \(PhoneBody.maximumText) bytes")
        }
        return nil
    }
}
