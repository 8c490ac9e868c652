import Samples

extension StoredRecord {
    /// The approximate size on the wire: the constant parts, and the texts that may be long.
    var estimatedBytes: Int {
        switch record {
        case .sample(let sample):
            var bytes = 400 + sample.key.text.utf8.count + (sample.group?.utf8.count ?? 0)
            bytes += (sample.metadata?.text.utf8.count ?? 0) + (sample.extra?.text.utf8.count ?? 0)
            switch sample.value {
            case .characteristic(let text, _): bytes += text.utf8.count
            case .other(let text): bytes += text?.utf8.count ?? 0
            case .quantity, .category, .workout, .correlation: break
            }
            switch sample.provenance {
            case .derived(_, _, let basis), .filled(_, let basis): bytes += basis.count * 24
            case .measured: break
            }
            return bytes
        case .day(let day):
            return 400 + (day.metadata?.text.utf8.count ?? 0) + (day.extra?.text.utf8.count ?? 0) + day.basis.count * 24
        case .retraction(let retraction):
            return 300 + (retraction.reason?.utf8.count ?? 0)
        }
    }
}
